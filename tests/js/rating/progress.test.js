import assert from "node:assert/strict";
import test from "node:test";
import { createProgress } from "../../../static/js/rating/progress.js";

const said = (done) => ({ kind: "ok", body: { progress: { done, tasks: 9 } } });

test("what the server says of the progress holds", async () => {
  const shown = [];
  const progress = createProgress({ done: 0, tasks: 5 }, ({ done, tasks }) => shown.push(`${done}/${tasks}`));
  await progress.following(async () => said(3), () => false)([]);
  progress.counted();
  assert.deepEqual(shown, ["0/5", "3/9", "4/9"]);
});

test("an answer from before a vote was counted does not take it back", async () => {
  const progress = createProgress({ done: 0, tasks: 9 }, () => {});
  let answer;
  const asked = progress.following(() => new Promise((resolve) => (answer = resolve)), () => false)([]);
  progress.counted();
  answer(said(0));
  await asked;
  assert.equal(progress.numbers.done, 1);
});

test("a vote that is on its way is counted once, not by the server and here", async () => {
  const progress = createProgress({ done: 0, tasks: 9 }, () => {});
  await progress.following(async () => said(1), () => true)([]);
  progress.counted();
  assert.equal(progress.numbers.done, 1);
});

test("a failure says nothing of the progress", async () => {
  const progress = createProgress({ done: 2, tasks: 9 }, () => {});
  assert.equal((await progress.following(async () => ({ kind: "unreachable" }), () => false)([])).kind, "unreachable");
  assert.equal(progress.numbers.done, 2);
});
