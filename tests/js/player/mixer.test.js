/** What comes out of the mixer, sample by sample. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { createMixer, PART_FRAMES, RATE } from "../../../static/js/player/mixer.js";

const FADE = 240; // 5 ms

function sine(hertz, frames, amplitude = 0.5) {
  return Float32Array.from({ length: frames }, (_, i) => amplitude * Math.sin((2 * Math.PI * hertz * i) / RATE));
}

/** A mixer with these clips loaded: {name: samples}; all in one group unless said otherwise. */
function mixerWith(sounds, { fadeMs = 5, groups = {}, gains = {}, load = true } = {}) {
  const ended = [];
  const mixer = createMixer({ onEnded: (name) => ended.push(name) });
  const clips = Object.entries(sounds).map(([name, samples]) => ({
    name,
    group: groups[name] ?? "candidates",
    frames: samples.length,
    gain: gains[name] ?? 1,
  }));
  mixer.reset({ clips, fadeMs });
  if (load) for (const name of Object.keys(sounds)) fill(mixer, name, sounds[name]);
  return { mixer, ended };
}

function fill(mixer, name, samples, parts = Infinity) {
  for (let part = 0; part * PART_FRAMES < samples.length && part < parts; part += 1) {
    mixer.put({ name, part, channels: [samples.slice(part * PART_FRAMES, (part + 1) * PART_FRAMES)] });
  }
}

/** Render in quanta of 128, as browsers do; `at` maps a quantum's number to what is done before it. */
function render(mixer, quanta, at = {}) {
  const out = new Float32Array(quanta * 128);
  const other = new Float32Array(quanta * 128);
  for (let n = 0; n < quanta; n += 1) {
    at[n]?.();
    mixer.render(out.subarray(n * 128, (n + 1) * 128), other.subarray(n * 128, (n + 1) * 128));
  }
  return { left: out, right: other };
}

const worst = (a, b) => a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
const steepest = (a) => a.reduce((most, value, i) => (i ? Math.max(most, Math.abs(value - a[i - 1])) : most), 0);

test("a clip comes out as it went in, in both ears, across the borders of its parts", () => {
  const a = sine(440, PART_FRAMES + 5000);
  const { mixer, ended } = mixerWith({ a });
  mixer.play({});
  const { left, right } = render(mixer, Math.ceil(a.length / 128) + 3);
  assert.equal(worst(left.subarray(0, a.length), a), 0);
  assert.deepEqual(left, right);
  assert.ok(left.subarray(a.length).every((value) => value === 0));
  assert.deepEqual(ended, ["a"]);
  assert.equal(mixer.report().playing, false);
});

test("stereo stays stereo and gains are applied", () => {
  const { mixer } = mixerWith({ a: new Float32Array(1000) }, { gains: { a: 0.5 }, load: false });
  mixer.put({ name: "a", part: 0, channels: [new Float32Array(1000).fill(0.8), new Float32Array(1000).fill(-0.4)] });
  mixer.play({});
  const { left, right } = render(mixer, 2);
  assert.ok(left.every((value) => Math.abs(value - 0.4) < 1e-7));
  assert.ok(right.every((value) => Math.abs(value + 0.2) < 1e-7));
});

test("a hundred switches keep the place to the sample", () => {
  // A counts samples upwards and B downwards: each sample says whose it is, and which.
  const frames = 40 * 4096;
  const a = Float32Array.from({ length: frames }, (_, i) => (i + 1) / 262144);
  const b = a.map((value) => -value);
  const { mixer } = mixerWith({ a, b }, { fadeMs: 0 });
  mixer.play({});
  const at = {};
  for (let k = 0; k < 100; k += 1) at[5 + 12 * k] = () => mixer.select({ name: k % 2 ? "a" : "b" });
  const { left } = render(mixer, frames / 128, at);
  left.forEach((value, i) => assert.equal(Math.abs(value), a[i], `sample ${i}`));
  const changes = left.filter((value, i) => i && Math.sign(value) !== Math.sign(left[i - 1])).length;
  assert.equal(changes, 100);
});

test("the same sound on both sides does not change at a switch: the fades add up to one", () => {
  const a = sine(440, 96_000);
  const { mixer } = mixerWith({ a, b: a });
  mixer.play({});
  const at = {};
  // Now and then before the fade of the switch before is over.
  for (let k = 0; k < 100; k += 1) at[3 + 7 * k - (k % 3) * 3] = () => mixer.select({ name: k % 2 ? "a" : "b" });
  const { left } = render(mixer, 740, at);
  assert.ok(worst(left, a) < 1e-6);
});

test("a switch between different sounds has no step beyond the sounds' own slope and the fade's", () => {
  const [a, b] = [sine(300, 96_000), sine(470, 96_000)];
  const { mixer } = mixerWith({ a, b });
  mixer.play({});
  const at = {};
  for (let k = 0; k < 100; k += 1) at[3 + 7 * k] = () => mixer.select({ name: k % 2 ? "a" : "b" });
  const { left } = render(mixer, 740, at);
  const own = (0.5 * 2 * Math.PI * 470) / RATE;
  const fades = (2 * 0.5 * Math.PI) / (2 * FADE);
  assert.ok(steepest(left) <= own + fades, `${steepest(left)} > ${own + fades}`);
});

test("pausing, going on and seeking do not click", () => {
  const a = sine(300, 200_000);
  const { mixer } = mixerWith({ a });
  mixer.play({});
  const at = {
    20: () => mixer.pause(),
    40: () => mixer.play({}),
    60: () => mixer.seek({ name: "a", frame: 100_037 }),
    80: () => mixer.setVolume({ value: 0.2 }),
  };
  const { left } = render(mixer, 120, at);
  const own = (0.5 * 2 * Math.PI * 300) / RATE;
  assert.ok(steepest(left) <= own + (2 * 0.5 * Math.PI) / (2 * FADE) + 0.5 / 480);
  assert.ok(left.subarray(22 * 128, 40 * 128).every((value) => value === 0));
});

test("going on after a pause goes on where the pause was asked for", () => {
  const { mixer } = mixerWith({ a: sine(300, 100_000) });
  mixer.play({});
  render(mixer, 10, { 5: () => mixer.pause() });
  assert.equal(mixer.report().positions.candidates, 5 * 128);
});

test("a loop goes round, and what it repeats is heard once", () => {
  const a = Float32Array.from({ length: 96_000 }, (_, i) => (i + 1) / 131072);
  const { mixer } = mixerWith({ a }, { fadeMs: 0 });
  mixer.setLoop({ range: [24_000, 48_001] });
  mixer.play({});
  const { left } = render(mixer, 750);
  const expected = Float32Array.from({ length: left.length }, (_, i) => a[i < 48_001 ? i : 24_000 + ((i - 24_000) % 24_001)]);
  assert.equal(worst(left, expected), 0);
  const { heard } = mixer.report();
  assert.deepEqual([heard[0], heard[1].from, heard[1].to], [{ name: "a", from: 0, to: 48_001 }, 24_000, 48_001]);
});

test("a clip that is shorter than the place one switches to begins at its start", () => {
  const { mixer, ended } = mixerWith({ a: sine(300, 48_000), b: sine(300, 10_000) });
  mixer.play({});
  render(mixer, 100, { 90: () => mixer.select({ name: "b" }) });
  const { current, positions, playing } = mixer.report();
  assert.deepEqual([current, positions.candidates, playing, ended], ["b", 10 * 128, true, []]);
});

test("once a clip has ended, the other one begins at its start, though it is longer", () => {
  const { mixer, ended } = mixerWith({ a: sine(300, 1280), b: sine(300, 48_000) });
  mixer.play({ name: "a" });
  render(mixer, 20);
  assert.deepEqual(ended, ["a"]);
  mixer.play({ name: "b" });
  render(mixer, 5);
  assert.equal(mixer.report().positions.candidates, 5 * 128);
});

test("whoever seeks after the end plays from there, but not the last hundredths of a second", () => {
  const { mixer } = mixerWith({ a: sine(300, 48_000), b: sine(300, 96_000) });
  const placeAfter = (frame, name) => {
    mixer.seek({ name, frame });
    mixer.play({ name });
    render(mixer, 1);
    return mixer.report().positions.candidates;
  };
  mixer.play({ name: "a" });
  render(mixer, 400);
  assert.equal(placeAfter(50_000, "b"), 50_128);
  assert.equal(placeAfter(47_000, "a"), 128);
});

test("after its end a clip plays from the beginning", () => {
  const { mixer } = mixerWith({ a: sine(300, 1000) });
  mixer.play({});
  render(mixer, 20);
  mixer.play({});
  render(mixer, 1);
  assert.equal(mixer.report().positions.candidates, 128);
});

test("a clip of another group has a place of its own", () => {
  const sounds = { a: sine(300, 48_000), reference: sine(200, 48_000) };
  const { mixer } = mixerWith(sounds, { groups: { reference: "reference" } });
  mixer.play({ name: "a" });
  render(mixer, 30, { 20: () => mixer.play({ name: "reference" }) });
  assert.deepEqual(mixer.report().positions, { candidates: 20 * 128, reference: 10 * 128 });
});

test("missing data makes it wait without losing the place, and go on without a click", () => {
  const a = sine(300, 2 * PART_FRAMES);
  const { mixer } = mixerWith({ a }, { load: false });
  fill(mixer, "a", a, 1);
  mixer.play({});
  const quanta = Math.ceil(PART_FRAMES / 128) + 50;
  const before = render(mixer, quanta);
  const stopped = mixer.report();
  assert.equal(stopped.buffering, true);
  assert.equal(stopped.playing, true);
  const held = stopped.positions.candidates;
  assert.ok(held < PART_FRAMES && held > PART_FRAMES - 1024);
  fill(mixer, "a", a);
  const after = render(mixer, 40);
  assert.ok(steepest(before.left) <= 0.5 * ((2 * Math.PI * 300) / RATE + Math.PI / (2 * FADE)));
  assert.ok(worst(after.left.subarray(FADE, 4000), a.subarray(held + FADE, held + 4000)) < 1e-6);
});

test("only what could be heard is noted, in the order it was heard", () => {
  const { mixer } = mixerWith({ a: sine(300, 48_000), b: sine(400, 48_000) });
  mixer.play({});
  const at = {
    10: () => mixer.select({ name: "b" }),
    20: () => mixer.setAudible({ value: false }),
    30: () => mixer.setAudible({ value: true }),
    40: () => mixer.pause(),
  };
  render(mixer, 50, at);
  assert.deepEqual(mixer.report().heard, [
    { name: "a", from: 0, to: 1280 },
    { name: "b", from: 1280, to: 2560 },
    { name: "b", from: 3840, to: 5120 },
  ]);
  assert.deepEqual(mixer.report().heard, []);
});

test("a new task knows nothing of the one before", () => {
  const { mixer } = mixerWith({ a: sine(300, 48_000) });
  mixer.play({});
  mixer.setLoop({ range: [0, 24_000] });
  render(mixer, 5);
  mixer.reset({ clips: [{ name: "a", group: "candidates", frames: 48_000, gain: 1 }], fadeMs: 5 });
  const { left } = render(mixer, 5);
  assert.ok(left.every((value) => value === 0));
  assert.deepEqual(mixer.report(), { current: "a", playing: false, buffering: false, positions: {}, heard: [] });
});
