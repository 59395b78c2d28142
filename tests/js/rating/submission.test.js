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
  let respond;
  const submission = createSubmission({
    outbox: { add: async () => {}, remove: async () => {} },
    sender: { deliver: () => new Promise((resolve) => (respond = resolve)) },
    screen: { part, notice, clearNotice() {} },
    urls: {},
    study: "s",
    onDone: (outcome) => done.push(outcome),
  });
  const view = { player: { pause() {} }, form: { instances: [], showProblems() {} } };
  const draft = { clientId: "vote", values: {}, codes: [], comment: "" };
  const task = { assignment: { id: "one" }, view, draft, log: () => ({}), isRevision: false, isClosed: false };
  return { submission, task, notices, done, respond: (outcome) => respond(outcome) };
}

test("a vote on its way is being sent, and nothing can be entered", async () => {
  const { submission, task, done, respond } = onPage();
  const sent = submission.send(task);
  await null;
  assert.deepEqual([submission.isSending, submission.isBusy], [true, true]);
  respond({ kind: "ok", body: {} });
  await sent;
  assert.deepEqual([submission.isSending, submission.isBusy], [false, false]);
  assert.deepEqual(done, [{ stored: true }]);
});

test("a task that is over waits for its rater, and sends nothing meanwhile", async () => {
  const { submission, task, notices, done, respond } = onPage();
  const sent = submission.send(task);
  await null;
  respond({ kind: "refused", code: "already_submitted", errors: [] });
  await sent;
  assert.deepEqual([submission.isSending, submission.isBusy], [false, true]);
  assert.deepEqual(done, []);
  notices.at(-1).actions[0].onclick();
  assert.equal(submission.isBusy, false);
  assert.deepEqual(done, [{ stored: false }]);
});
