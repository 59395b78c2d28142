import assert from "node:assert/strict";
import test from "node:test";
import { coverage, createReadingTimer, meterSeconds, requirementsOf, secondsLeft } from "../../../static/js/rating/listen_gate.js";

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
  assert.deepEqual(requirementsOf(PAIR).clips.map(({ name, label, required }) => [name, label, required]), [["a", "A", 10], ["b", "B", 10]]);
  const strict = { ...PAIR, content: [{ field: "reference_clip", clip: clip("reference", 8) }] };
  assert.deepEqual(requirementsOf(strict).clips[0], { name: "reference", field: "reference_clip", label: null, required: 8 });
});

test("answers in words need no listening", () => {
  const requirements = requirementsOf({ content: [{ field: "clip", clip: clip("recording", 0) }], candidates: [{ label: "A", text: "A bell" }] });
  assert.deepEqual(requirements, { clips: [], switches: 0 });
  assert.equal(coverage(requirements, player({})).isEnough, true);
});

test("what is missing is known clip by clip", () => {
  const { clips, switchesLeft, isEnough } = coverage(requirementsOf(PAIR), player({ a: 12, b: 4.2 }));
  assert.deepEqual(clips.map(({ heard, isEnough }) => [heard, isEnough]), [[10, true], [4.2, false]]);
  assert.deepEqual([switchesLeft, isEnough], [1, false]);
});

test("enough is enough, to the last sample", () => {
  assert.equal(coverage(requirementsOf(PAIR), player({ a: 10, b: 9.96 }, 1)).isEnough, true);
  assert.equal(coverage(requirementsOf(PAIR), player({ a: 10, b: 9.9 }, 1)).isEnough, false);
  assert.equal(coverage(requirementsOf(PAIR), player({ a: 10, b: 10 }, 0)).isEnough, false);
  assert.equal(coverage(requirementsOf(PAIR), player({ a: 10, b: 10 }, 7)).switchesLeft, 0);
});

test("a meter rounds as the players do, and never shows more than was heard", () => {
  assert.deepEqual(meterSeconds({ heard: 6.97, required: 10 }), { heard: 6, required: 10 });
  assert.deepEqual(meterSeconds({ heard: 6.97, required: 13.42 }), { heard: 6, required: 14 });
  assert.deepEqual(meterSeconds({ heard: 1.28, required: 1.5 }), { heard: 1, required: 2 });
  assert.deepEqual(meterSeconds({ heard: 0, required: 8.6 }), { heard: 0, required: 9 });
});

test("what is left is what the meter lacks, and at least a second while anything is", () => {
  const left = [[9.96, 10], [4.2, 10], [3.9, 8.6]].map(([heard, required]) => secondsLeft({ heard, required }));
  assert.deepEqual(left, [1, 6, 6]);
});

test("an instruction is read only while the page can be seen", () => {
  const reading = createReadingTimer(3);
  assert.equal(reading.pass(1, true), 2);
  assert.equal(reading.pass(60, false), 2);
  assert.equal(reading.pass(2.5, true), 0);
  assert.equal(reading.left, 0);
});
