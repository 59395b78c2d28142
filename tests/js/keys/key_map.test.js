import assert from "node:assert/strict";
import test from "node:test";
import { answerKeys } from "../../../static/js/rating/protocol.js";
import { ACTIONS, createKeyMap } from "../../../static/js/keys/key_map.js";
import { ariaKeyName, keyLabel } from "../../../static/js/keys/key_dialog.js";

const COMPARISON = { questions: [{ kind: "preference" }], codes: [{ key: "Q" }], candidate: "clip" };
const VERDICT = { questions: [{ kind: "correctness", points: [] }] };

function memory(items = {}) {
  return { items, getItem: (name) => items[name] ?? null, setItem: (name, value) => (items[name] = value) };
}

test("no two actions begin with the same key", () => {
  assert.equal(new Set(ACTIONS.map(({ key }) => key)).size, ACTIONS.length);
});

test("no default key is an answer of any question", () => {
  const keys = createKeyMap(memory());
  for (const definition of [COMPARISON, VERDICT, { questions: [{ kind: "rating", minimum: 0, maximum: 10 }] }]) {
    keys.reserve(answerKeys(definition));
    assert.deepEqual(ACTIONS.filter(({ name }) => keys.keyOf(name) === null), []);
  }
});

test("an action has its default key until it gets another, and then only that", () => {
  const keys = createKeyMap(memory());
  assert.equal(keys.actionOf("s"), "switch");
  assert.equal(keys.change("switch", "w"), null);
  assert.equal(keys.keyOf("switch"), "w");
  assert.equal(keys.actionOf("w"), "switch");
  assert.equal(keys.actionOf("s"), undefined);
});

test("a key that is taken is refused by the name of what it does", () => {
  const keys = createKeyMap(memory());
  assert.deepEqual(keys.change("switch", "m"), { problem: "taken", by: "mute" });
  assert.equal(keys.keyOf("switch"), "s");
  assert.equal(keys.change("mute", "w"), null);
  assert.equal(keys.change("switch", "m"), null, "free by now");
});

test("an action may be given the key it has", () => {
  assert.equal(createKeyMap(memory()).change("switch", "s"), null);
});

test("digits and the letters of this protocol's answers and codes stay answers", () => {
  const keys = createKeyMap(memory());
  keys.reserve(answerKeys(COMPARISON));
  for (const key of ["1", "0", "a", "b", "t", "n", "q"]) assert.deepEqual(keys.change("switch", key), { problem: "reserved" });
  keys.reserve(answerKeys(VERDICT));
  assert.deepEqual(keys.change("switch", "y"), { problem: "reserved" });
  assert.equal(keys.change("switch", "q"), null);
});

test("where another protocol needs a chosen key for an answer, the action has none there", () => {
  const keys = createKeyMap(memory());
  keys.change("switch", "q");
  keys.reserve(answerKeys(COMPARISON));
  assert.equal(keys.keyOf("switch"), null);
  assert.equal(keys.actionOf("q"), undefined);
  keys.reserve(answerKeys(VERDICT));
  assert.equal(keys.keyOf("switch"), "q");
});

test("chords and keys without a name cannot be chosen", () => {
  const keys = createKeyMap(memory());
  for (const key of [null, "Escape", "Alt+1"]) assert.deepEqual(keys.change("switch", key), { problem: "unusable" });
});

test("leaving a text cannot be moved", () => {
  const storage = memory({ "concord:keys": JSON.stringify({ leave_text: "w" }) });
  assert.equal(createKeyMap(storage).keyOf("leave_text"), "Escape");
});

test("what was chosen is there again on the next page, and gone after a reset", () => {
  const storage = memory();
  createKeyMap(storage).change("submit", "w");
  const next = createKeyMap(storage);
  assert.equal(next.keyOf("submit"), "w");
  next.reset();
  assert.equal(next.keyOf("submit"), "Ctrl+Enter");
  assert.equal(createKeyMap(storage).keyOf("submit"), "Ctrl+Enter");
});

test("storage that is broken or closed leaves the defaults, and choices for this page", () => {
  const broken = { getItem: () => "{", setItem: () => assert.fail("closed") };
  const closed = {
    getItem() {
      throw new Error("closed");
    },
    setItem() {
      throw new Error("closed");
    },
  };
  assert.equal(createKeyMap(broken).keyOf("switch"), "s");
  const keys = createKeyMap(closed);
  assert.equal(keys.change("switch", "w"), null);
  assert.equal(keys.keyOf("switch"), "w");
});

test("every change sends an event", () => {
  const keys = createKeyMap(memory());
  let nEvents = 0;
  keys.addEventListener("change", () => (nEvents += 1));
  keys.change("switch", "w");
  keys.change("switch", "m"); // refused
  keys.reset();
  keys.reserve(answerKeys(VERDICT));
  assert.equal(nEvents, 3);
});

test("holding a key goes on for what repeats, whichever key it is", () => {
  const keys = createKeyMap(memory());
  assert.equal(keys.repeats("j"), true);
  assert.equal(keys.repeats("s"), false);
  keys.change("back5", "w");
  assert.equal(keys.repeats("w"), true);
  assert.equal(keys.repeats("j"), false);
});

test("keys are written for eyes and for assistive technology", () => {
  assert.deepEqual(["Space", "s", "Shift+Enter", "["].map(keyLabel), ["Space", "S", "⇧ ⏎", "["]);
  assert.deepEqual(["Space", "s", "Ctrl+Enter", "+"].map(ariaKeyName), ["Space", "S", "Control+Enter", "Plus"]);
});
