import assert from "node:assert/strict";
import test from "node:test";
import { toAnswers, toValues } from "../../../static/js/rating/answers.js";
import { createChanging, createHistory, takeNamed } from "../../../static/js/rating/revisions.js";

function fakeStorage() {
  const items = new Map();
  return { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => void items.set(key, value) };
}

test("the answer given last comes first, then the ones before it", () => {
  const history = createHistory("ada:s", { storage: fakeStorage(), now: () => 0 });
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
  const history = createHistory("ada:s", { storage: fakeStorage(), now: () => now });
  history.add("never", 0);
  assert.equal(history.before(), null);
  history.add("one", 10);
  now = 10 * 60_000;
  assert.equal(history.before(), null);
});

test("a reload does not forget what was answered", () => {
  const storage = fakeStorage();
  createHistory("ada:s", { storage, now: () => 0 }).add("one", 10);
  assert.equal(createHistory("ada:s", { storage, now: () => 0 }).before(), "one");
  assert.equal(createHistory("ben:s", { storage, now: () => 0 }).before(), null);
});

test("an answer that can no longer be had is passed over", () => {
  const history = createHistory("ada:s", { storage: fakeStorage(), now: () => 0 });
  for (const id of ["one", "two"]) history.add(id, 10);
  history.forget("two");
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

/** Going back from a bench with nothing on it; `arrive()` brings the earlier answer. */
function goingBack() {
  const bench = { task: null, changes: 0, changed: 0, change: () => (bench.changed += 1) };
  let arrive;
  const body = { assignment: { id: "one", protocol_version: 1 }, answers: [], codes: [], comment: "", telemetry: null };
  const changing = createChanging({
    api: { given: () => new Promise((resolve) => (arrive = () => resolve({ kind: "ok", body }))) },
    queue: { definition: async () => ({ kind: "ok", definition: {} }) },
    bench,
    history: { before: () => "one" },
    isBusy: () => false,
  });
  return { bench, opened: changing.open(), arrive: () => arrive() };
}

test("an earlier answer comes onto the bench when it has arrived", async () => {
  const { bench, opened, arrive } = goingBack();
  arrive();
  await opened;
  assert.equal(bench.changed, 1);
});

test("an earlier answer that arrives after the rater went on to another task is not put beside it", async () => {
  const { bench, opened, arrive } = goingBack();
  bench.changes += 1; // cleared for the next task, which is not there yet either
  arrive();
  await opened;
  assert.equal(bench.changed, 0);
});

test("an answer that the address names is opened once: a reload goes on with the work", () => {
  const id = "0b4f3f6a-6f55-4f3b-9d0e-2f1f4a4d9c11";
  const page = { location: { href: `http://host/work/?again=${id}` } };
  page.history = { replaceState: (_state, _title, address) => (page.location.href = String(address)) };
  assert.deepEqual([takeNamed(page), takeNamed(page)], [id, null]);
});

test("nothing but an assignment can be named", () => {
  const page = { location: { href: "http://host/work/?again=../../secret" }, history: { replaceState() {} } };
  assert.equal(takeNamed(page), null);
});

test("a named answer that cannot be had is said, and nothing is put on the bench", async () => {
  const bench = { task: null, changes: 0, change: () => assert.fail("nothing to put there") };
  const changing = createChanging({
    api: { given: async () => ({ kind: "refused", detail: "gone" }) },
    bench,
    history: { forget() {} },
    t: (key, { detail }) => `${key}: ${detail}`,
    isBusy: () => false,
  });
  assert.equal(await changing.reopen("one"), "change.failed: gone");
});
