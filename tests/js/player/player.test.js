/** The player's promises to the page, over the real mixer; only the browser's audio device is played by the test. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { createMixer, PART_FRAMES, RATE } from "../../../static/js/player/mixer.js";
import { createPlayer } from "../../../static/js/player/player.js";

/** An engine whose audio thread runs when the test says so. */
function testEngine() {
  const events = new EventTarget();
  const ended = [];
  const mixer = createMixer({ onEnded: (name) => ended.push(name) });
  let onReport = () => {};
  let sequence = 0;
  let carriedOut = 0;
  const engine = {
    ready: Promise.resolve(),
    volume: 1,
    latencyMs: 12,
    awake: true,
    addEventListener: events.addEventListener.bind(events),
    happen: (type) => events.dispatchEvent(new Event(type)),
    attach: (handler) => (onReport = handler),
    command(name, parameters = {}) {
      sequence += 1;
      mixer[name](parameters);
      carriedOut = sequence;
      return sequence;
    },
    wake: async () => engine.awake,
    /** Let so many seconds of sound go by. */
    run(seconds) {
      for (let frames = Math.round(seconds * RATE); frames > 0; frames -= 128) {
        mixer.render(new Float32Array(Math.min(128, frames)), new Float32Array(Math.min(128, frames)));
      }
      onReport({ ...mixer.report(), ended: ended.splice(0), sequence: carriedOut });
    },
    deliverLate: (report) => onReport(report),
  };
  return engine;
}

const loaded = (seconds) => ({
  focus() {},
  loop() {},
  retry() {},
  close() {},
  connect(sink) {
    for (const name of ["reference", "a", "b"]) {
      for (let part = 0; part * PART_FRAMES < seconds * RATE; part += 1) {
        sink.put({ name, part, channels: [new Float32Array(Math.min(PART_FRAMES, seconds * RATE - part * PART_FRAMES))] });
      }
    }
  },
});

function makePlayer({ seconds = 10, loader = loaded(seconds), isOpen = true } = {}) {
  const page = Object.assign(new EventTarget(), { hidden: false });
  const engine = testEngine();
  const clip = (name, group, switches) => ({ name, group, switches, samples: seconds * RATE, gain_db: 0 });
  const clips = [clip("reference", "reference", false), clip("a", "candidates", true), clip("b", "candidates", true)];
  const player = createPlayer({ engine, loader, clips, page, isOpen });
  const emitted = [];
  for (const type of ["ended", "failed", "state"]) {
    player.addEventListener(type, ({ detail }) => emitted.push(`${type} ${detail.kind ?? detail.name}`));
  }
  return { player, engine, page, emitted };
}

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 0.01, `${actual} is not ${expected}`);

test("built ahead, it leaves the engine alone and counts no time until it is opened", async () => {
  const { player, engine, page } = makePlayer({ isOpen: false });
  const commands = [];
  const { command } = engine;
  engine.command = (...parameters) => {
    commands.push(parameters[0]);
    return command(...parameters);
  };
  engine.happen("device");
  page.hidden = true;
  page.dispatchEvent(new Event("visibilitychange"));
  page.hidden = false;
  assert.deepEqual(commands, []);
  assert.deepEqual([player.log().devices, player.log().shown_s, player.log().hidden_s], [0, 0, 0]);
  player.open();
  assert.deepEqual(commands.slice(0, 2), ["pause", "reset"]);
  await player.play("a");
  engine.run(1);
  near(player.heardSeconds("a"), 1);
});

test("one that was never opened ends without a word to the engine", () => {
  const { player, engine } = makePlayer({ isOpen: false });
  engine.command = () => assert.fail("the player on the page would stop");
  player.dispose();
});

test("switching goes round the candidates, keeps the place and is counted", async () => {
  const { player, engine } = makePlayer();
  await player.play("a");
  engine.run(2);
  await player.switchOver();
  assert.equal(player.current, "b");
  near(player.position("b"), 2);
  engine.run(1);
  await player.switchOver();
  engine.run(1);
  near(player.position("a"), 4);
  assert.equal(player.switches, 2);
  assert.deepEqual(player.heard("a").map((span) => span.map(Math.round)), [[0, 2], [3, 4]]);
  near(player.heardSeconds("b"), 1);
  player.dispose();
});

test("from the reference a switch leads to the first candidate, at its own place", async () => {
  const { player, engine } = makePlayer();
  await player.play("reference");
  engine.run(3);
  await player.switchOver();
  engine.run(1);
  assert.equal(player.current, "a");
  near(player.position("a"), 1);
  near(player.position("reference"), 3);
  player.dispose();
});

test("hearing one version and then playing the other is a switch; leaving the reference, or what was not heard, is none", async () => {
  const { player, engine } = makePlayer();
  await player.play("reference");
  engine.run(1);
  await player.play("b");
  await player.play("a");
  engine.run(11);
  assert.deepEqual([player.playing, player.switches], [false, 0]);
  await player.play("b");
  engine.run(1);
  assert.equal(player.switches, 1);
  player.dispose();
});

test("while it is paused a switch changes the clip and starts nothing", async () => {
  const { player, engine } = makePlayer();
  await player.play("a");
  engine.run(1);
  player.pause();
  player.switchOver();
  engine.run(1);
  assert.deepEqual([player.current, player.playing], ["b", false]);
  near(player.position(), 1);
  assert.equal(player.switches, 1);
  player.dispose();
});

test("what is muted or turned down to nothing does not count as heard", async () => {
  const { player, engine } = makePlayer();
  await player.play("a");
  engine.run(1);
  player.level.muted = true;
  engine.run(1);
  player.level.muted = false;
  player.level.volume = 0;
  engine.run(1);
  player.level.volume = 0.4;
  engine.run(1);
  near(player.heardSeconds("a"), 2);
  assert.deepEqual(player.log().volume, [0, 1]);
  player.dispose();
});

test("a locked player does not start, and says why", async () => {
  const { player, engine, emitted } = makePlayer();
  player.locked = true;
  await player.play("a");
  engine.run(1);
  assert.equal(player.heardSeconds("a"), 0);
  assert.deepEqual(emitted, ["state locked"]);
  player.locked = false;
  await player.play("a");
  engine.run(1);
  near(player.heardSeconds("a"), 1);
  player.dispose();
});

for (const [what, cause] of [
  ["hidden", ({ page }) => (page.hidden = true) && page.dispatchEvent(new Event("visibilitychange"))],
  ["interrupted", ({ engine }) => engine.happen("interrupted")],
  ["device", ({ engine }) => engine.happen("device")],
]) {
  test(`it pauses when ${what}, says so, and goes on where it was`, async () => {
    const made = makePlayer();
    const { player, engine, page, emitted } = made;
    await player.play("a");
    engine.run(2);
    cause(made);
    engine.run(1);
    assert.equal(player.playing, false);
    assert.deepEqual(emitted, [`state ${what}`]);
    page.hidden = false;
    page.dispatchEvent(new Event("visibilitychange"));
    await player.play();
    engine.run(1);
    near(player.position(), 3);
    near(player.heardSeconds("a"), 3);
    player.dispose();
  });
}

test("a device that does not give out sound is said to hold it back", async () => {
  const { player, engine, emitted } = makePlayer();
  engine.awake = false;
  await player.play("a");
  assert.deepEqual([emitted, player.playing], [["state blocked"], false]);
  player.dispose();
});

test("a player from which nothing is heard any more says so", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { player, emitted } = makePlayer();
  await player.play("a");
  t.mock.timers.tick(2500);
  assert.deepEqual([emitted, player.playing], [["state silent"], false]);
  player.dispose();
});

test("a loop is at least half a second long", async () => {
  const { player, engine } = makePlayer();
  player.loop = [1, 1.4];
  assert.equal(player.loop, null);
  player.loop = [0, 0.5];
  await player.play("a");
  engine.run(3);
  assert.deepEqual([player.playing, player.heard("a")], [true, [[0, 0.5]]]);
  player.loop = null;
  engine.run(10.1);
  assert.equal(player.playing, false);
  player.dispose();
});

test("data that is missing is waited for, and counted", async () => {
  let deliver;
  const loader = { ...loaded(10), connect: (sink) => (deliver = () => loaded(10).connect(sink)) };
  const { player, engine } = makePlayer({ loader });
  await player.play("a");
  engine.run(1);
  assert.deepEqual([player.playing, player.buffering, player.heardSeconds("a")], [true, true, 0]);
  deliver();
  engine.run(1);
  near(player.heardSeconds("a"), 1);
  assert.equal(player.log().stalls, 1);
  player.dispose();
});

test("a clip that cannot be had is said to have failed, and pauses what waits for it", async () => {
  let fail;
  const loader = { ...loaded(10), connect: (_sink, { onFailed }) => (fail = onFailed) };
  const { player, engine, emitted } = makePlayer({ loader });
  await player.play("b");
  engine.run(0.1);
  fail("b", Object.assign(new Error("gone"), { status: 404 }));
  assert.deepEqual([emitted, player.playing, player.failure("b"), player.failure("a")], [["failed b"], false, "failed", null]);
  player.dispose();
});

test("what is there of a clip that failed still sounds; playing it again tries again", async () => {
  const retried = [];
  let fail;
  let deliver;
  const loader = {
    ...loaded(2),
    retry: (name) => retried.push(name),
    connect(sink, { onFailed }) {
      fail = onFailed;
      deliver = () => loaded(2).connect(sink);
    },
  };
  const { player, engine } = makePlayer({ loader });
  deliver();
  await player.play("a");
  engine.run(0.5);
  fail("a", new Error("cut off"));
  engine.run(1);
  assert.equal(player.playing, true);
  player.pause();
  await player.play("a");
  assert.deepEqual([retried, player.failure("a")], [["a"], null]);
  player.dispose();
});

test("a switch by way of the reference is a switch", async () => {
  const { player, engine } = makePlayer();
  for (const [name, expected] of [["a", 0], ["reference", 0], ["a", 0], ["reference", 0], ["b", 1], ["reference", 1], ["a", 2]]) {
    await player.play(name);
    engine.run(0.5);
    assert.equal(player.switches, expected, name);
  }
  player.dispose();
});

test("reports of the task before say nothing of this one", async () => {
  const { player, engine } = makePlayer();
  engine.deliverLate({ sequence: 0, heard: [{ name: "a", from: 0, to: RATE }], ended: [], positions: { candidates: RATE }, playing: true });
  assert.deepEqual([player.heardSeconds("a"), player.position("a"), player.playing], [0, 0, false]);
  player.dispose();
});

test("the log fits what the server reads", async () => {
  const { player, engine } = makePlayer();
  await player.play("a");
  engine.run(1);
  player.seek(5);
  engine.run(1);
  const log = player.log({ session_s: 60 });
  assert.deepEqual(Object.keys(log.heard), ["a"]);
  assert.deepEqual(log.heard.a.map((span) => span.map((each) => Math.round(each * 10))), [[0, 10], [50, 60]]);
  assert.deepEqual([log.v, log.plays, log.seeks, log.latency_ms, log.session_s], [1, 1, 1, 12, 60]);
  player.dispose();
});
