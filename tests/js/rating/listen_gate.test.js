import assert from "node:assert/strict";
import test from "node:test";
import { createReading, meter, needsOf, secondsLeft, standing } from "../../../static/js/rating/listen_gate.js";

const clip = (name, must_hear) => ({ name, must_hear, duration: 20 });
const PAIR = {
  content: [{ field: "prompt", text: "A march" }, { field: "reference_clip", clip: clip("reference", 0) }],
  candidates: [
    { label: "A", clip: clip("a", 10) },
    { label: "B", clip: clip("b", 10) },
  ],
  listening: { min_switches: 1 },
};
const player = (seconds, switches = 0) => ({ heardSeconds: (name) => seconds[name] ?? 0, switches });

test("the candidates of a pair must be heard, and a reference only where the briefing says so", () => {
  assert.deepEqual(needsOf(PAIR).clips.map(({ name, label, wanted }) => [name, label, wanted]), [["a", "A", 10], ["b", "B", 10]]);
  const strict = { ...PAIR, content: [{ field: "reference_clip", clip: clip("reference", 8) }] };
  assert.deepEqual(needsOf(strict).clips[0], { name: "reference", field: "reference_clip", label: null, wanted: 8 });
});

test("answers in words need no listening", () => {
  const needs = needsOf({ content: [{ field: "clip", clip: clip("recording", 0) }], candidates: [{ label: "A", text: "A bell" }] });
  assert.deepEqual(needs, { clips: [], switches: 0 });
  assert.equal(standing(needs, player({})).enough, true);
});

test("what is missing is known clip by clip", () => {
  const { clips, switchesLeft, enough } = standing(needsOf(PAIR), player({ a: 12, b: 4.2 }));
  assert.deepEqual(clips.map(({ heard, enough }) => [heard, enough]), [[10, true], [4.2, false]]);
  assert.deepEqual([switchesLeft, enough], [1, false]);
});

test("enough is enough, to the last sample", () => {
  assert.equal(standing(needsOf(PAIR), player({ a: 10, b: 9.96 }, 1)).enough, true);
  assert.equal(standing(needsOf(PAIR), player({ a: 10, b: 9.9 }, 1)).enough, false);
  assert.equal(standing(needsOf(PAIR), player({ a: 10, b: 10 }, 0)).enough, false);
  assert.equal(standing(needsOf(PAIR), player({ a: 10, b: 10 }, 7)).switchesLeft, 0);
});

test("a meter shows whole seconds, tenths where there are few, and never more than was heard", () => {
  assert.deepEqual(meter({ heard: 6.97, wanted: 10 }), { heard: 6, wanted: 10 });
  assert.deepEqual(meter({ heard: 6.97, wanted: 13.42 }), { heard: 6, wanted: 14 });
  assert.deepEqual(meter({ heard: 1.28, wanted: 1.5 }), { heard: 1.2, wanted: 1.5 });
  assert.deepEqual(meter({ heard: 0.3, wanted: 3 }), { heard: 0.3, wanted: 3 });
});

test("while anything is left it is at least a second", () => {
  assert.deepEqual([secondsLeft({ heard: 9.99, wanted: 10 }), secondsLeft({ heard: 4.2, wanted: 10 })], [1, 6]);
});

test("an instruction is read only while it can be seen", () => {
  const reading = createReading(3);
  assert.equal(reading.pass(1, true), 2);
  assert.equal(reading.pass(60, false), 2);
  assert.equal(reading.pass(2.5, true), 0);
  assert.equal(reading.left, 0);
});
