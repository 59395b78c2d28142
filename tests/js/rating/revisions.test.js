import assert from "node:assert/strict";
import test from "node:test";
import { toAnswers, toValues } from "../../../static/js/rating/answers.js";
import { createAnswerHistory, createRevisions, takeRequestedId } from "../../../static/js/rating/revisions.js";

function fakeStorage() {
  const items = new Map();
  return { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => void items.set(key, value) };
}

test("the answer given last comes first, then the ones before it", () => {
  const history = createAnswerHistory("ada:s", { sessionStorage: fakeStorage(), now: () => 0 });
  for (const id of ["one", "two", "three"]) history.add(id, 10);
  assert.deepEqual([history.before(), history.before("three"), history.before("two"), history.before("one")], [
    "three",
    "two",
    "one",
    null,
  ]);
});

test("an answer is gone when its time is over, or when the study allows none", () => {
  let now = 0;
  const history = createAnswerHistory("ada:s", { sessionStorage: fakeStorage(), now: () => now });
  history.add("never", 0);
  assert.equal(history.before(), null);
  history.add("one", 10);
  now = 10 * 60_000;
  assert.equal(history.before(), null);
});

test("a reload does not forget what was answered", () => {
  const storage = fakeStorage();
  createAnswerHistory("ada:s", { sessionStorage: storage, now: () => 0 }).add("one", 10);
  assert.equal(createAnswerHistory("ada:s", { sessionStorage: storage, now: () => 0 }).before(), "one");
  assert.equal(createAnswerHistory("ben:s", { sessionStorage: storage, now: () => 0 }).before(), null);
});

test("an answer that can no longer be had is passed over", () => {
  const history = createAnswerHistory("ada:s", { sessionStorage: fakeStorage(), now: () => 0 });
  for (const id of ["one", "two"]) history.add(id, 10);
  history.remove("two");
  assert.equal(history.before(), "one");
});

test("answers as the server gives them become what was entered, and the other way round", () => {
  const answers = [
    { question: "alignment", choice: "B", confidence: 4 },
    { question: "correctness", position: 0, value: 1 },
    { question: "evidence", text: "B drifts." },
  ];
  const asks = [
    { id: "alignment", position: null, question: { key: "alignment", kind: "preference" } },
    { id: "correctness.0", position: 0, question: { key: "correctness", kind: "correctness" } },
    { id: "evidence", position: null, question: { key: "evidence", kind: "text" } },
  ];
  assert.deepEqual(toAnswers(asks, toValues(answers)), answers);
});

/** Going back where no task is shown; `respond()` brings the earlier answer. */
function startGoingBack() {
  const currentTask = { task: null, generation: 0, nRevisions: 0, startRevision: () => (currentTask.nRevisions += 1) };
  let respond;
  const body = { assignment: { id: "one", protocol_version: 1 }, answers: [], codes: [], comment: "", telemetry: null };
  const revisions = createRevisions({
    api: { submittedAnswers: () => new Promise((resolve) => (respond = () => resolve({ kind: "ok", body }))) },
    queue: { protocol: async () => ({ kind: "ok", definition: {} }) },
    currentTask,
    history: { before: () => "one" },
    isBusy: () => false,
  });
  return { currentTask, opened: revisions.openPrevious(), respond: () => respond() };
}

test("an earlier answer is shown once it has arrived", async () => {
  const { currentTask, opened, respond } = startGoingBack();
  respond();
  await opened;
  assert.equal(currentTask.nRevisions, 1);
});

test("an earlier answer that arrives after the rater went on to another task is not put beside it", async () => {
  const { currentTask, opened, respond } = startGoingBack();
  currentTask.generation += 1; // cleared for the next task, which is not there yet either
  respond();
  await opened;
  assert.equal(currentTask.nRevisions, 0);
});

test("an answer that the address names is opened once: a reload goes on with the work", () => {
  const id = "0b4f3f6a-6f55-4f3b-9d0e-2f1f4a4d9c11";
  const page = { location: { href: `http://host/work/?again=${id}` } };
  page.history = { replaceState: (_state, _title, address) => (page.location.href = String(address)) };
  assert.deepEqual([takeRequestedId(page), takeRequestedId(page)], [id, null]);
});

test("nothing but an assignment can be named", () => {
  const page = { location: { href: "http://host/work/?again=../../secret" }, history: { replaceState() {} } };
  assert.equal(takeRequestedId(page), null);
});

test("a named answer that cannot be had is said, and nothing is shown", async () => {
  const currentTask = { task: null, generation: 0, startRevision: () => assert.fail("nothing to put there") };
  const revisions = createRevisions({
    api: { submittedAnswers: async () => ({ kind: "refused", detail: "gone" }) },
    currentTask,
    history: { remove() {} },
    isBusy: () => false,
  });
  assert.equal(await revisions.open("one"), "Your earlier answer could not be fetched: gone");
});
