import assert from "node:assert/strict";
import test from "node:test";
import { createSubmission } from "../../../static/js/rating/submission.js";

/** A submission on a page of bare parts; `answer(outcome)` is what the server says to the vote on its way. */
function onPage() {
  const parts = {};
  const notices = [];
  const part = (name) => (parts[name] ??= { setAttribute: (key, value) => (parts[name][key] = value), focus() {} });
  part("form").getAttribute = (key) => parts.form[key] ?? null;
  const notice = (text, { actions = [] } = {}) => {
    notices.push({ text, actions });
    return { querySelector: () => ({ focus() {} }) };
  };
  const done = [];
  let answer;
  const submission = createSubmission({
    outbox: { add: async () => {}, forget: async () => {} },
    delivery: { deliver: () => new Promise((resolve) => (answer = resolve)) },
    screen: { part, notice, clearNotice() {} },
    t: (key) => key,
    urls: {},
    study: "s",
    onDone: (outcome) => done.push(outcome),
  });
  const view = { player: { pause() {} }, asked: { asks: [], showProblems() {} } };
  const draft = { clientId: "vote", values: {}, codes: [], comment: "" };
  const task = { assignment: { id: "one" }, view, draft, log: () => ({}), changing: false, over: false };
  return { submission, task, notices, done, answer: (outcome) => answer(outcome) };
}

test("a vote on its way is being sent, and nothing can be entered", async () => {
  const { submission, task, done, answer } = onPage();
  const sent = submission.send(task);
  await null;
  assert.deepEqual([submission.sending, submission.busy], [true, true]);
  answer({ kind: "ok", body: { surplus: false } });
  await sent;
  assert.deepEqual([submission.sending, submission.busy], [false, false]);
  assert.deepEqual(done, [{ stored: true, surplus: false }]);
});

test("a task that is over waits for its rater, and sends nothing meanwhile", async () => {
  const { submission, task, notices, done, answer } = onPage();
  const sent = submission.send(task);
  await null;
  answer({ kind: "ok", body: { surplus: true } });
  await sent;
  assert.deepEqual([submission.sending, submission.busy], [false, true]);
  assert.deepEqual(done, []);
  notices.at(-1).actions[0].onclick();
  assert.equal(submission.busy, false);
  assert.deepEqual(done, [{ stored: true, surplus: true }]);
});
