import assert from "node:assert/strict";
import test from "node:test";
import { readReturn } from "../../static/js/desk_dialogs.js";
import { createDeskKeys, fieldRows } from "../../static/js/desk_keys.js";
import { createMemory } from "../../static/js/desk_memory.js";

function form(entries) {
  const data = new FormData();
  for (const [name, value] of entries) data.append(name, value);
  return data;
}

test("a return names its raters or how many more votes it wants, and never nobody", () => {
  assert.deepEqual(readReturn(form([["to", "raters"], ["judgment", "a"], ["judgment", "b"], ["votes", "1"]])).values, {
    to: "raters",
    judgments: ["a", "b"],
  });
  assert.deepEqual(readReturn(form([["to", "pool"], ["judgment", "a"], ["votes", "2"]])).values, { to: "pool", votes: 2 });
  assert.equal(readReturn(form([["to", "raters"], ["votes", "1"]])).fault, "desk.nobody_chosen");
  assert.equal(readReturn(form([["votes", "1"]])).fault, "desk.nobody_chosen");
});

test("the desk's keys are each for one thing, and are kept apart from the workbench's", () => {
  const kept = new Map();
  const keys = createDeskKeys({ getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) });
  const faces = keys.actions.map(({ key }) => key);
  assert.equal(new Set(faces).size, faces.length);
  assert.deepEqual(keys.change("fine", "c"), { problem: "taken", by: "correct" });
  assert.deepEqual(keys.change("fine", "1"), { problem: "reserved" }); // a field's
  assert.equal(keys.change("fine", "o"), null);
  assert.deepEqual([...kept.keys()], ["concord:desk-keys"]);
  assert.deepEqual(fieldRows(4)[0].keys, ["1", "4"]);
});

test("what was typed is there again until it is forgotten, and a broken storage breaks nothing", () => {
  const kept = new Map();
  const storage = {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => kept.set(name, value),
    removeItem: (name) => kept.delete(name),
  };
  const memory = createMemory(storage, "case");
  assert.equal(memory.read(), null);
  memory.write({ texts: { question: "What rings?" } });
  assert.deepEqual(createMemory(storage, "case").read(), { texts: { question: "What rings?" } });
  memory.forget();
  assert.equal(memory.read(), null);
  const broken = createMemory({}, "case");
  broken.write({});
  assert.equal(broken.read(), null);
});
