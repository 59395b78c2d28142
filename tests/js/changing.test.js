import assert from "node:assert/strict";
import test from "node:test";
import { toAnswers, toValues } from "../../static/js/answers.js";
import { createHistory } from "../../static/js/changing.js";

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
