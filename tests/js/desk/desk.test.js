import assert from "node:assert/strict";
import test from "node:test";
import { createDeskKeys, fieldRows } from "../../../static/js/desk/desk.js";

test("the desk's keys are each for one thing, and are kept apart from the workbench's", () => {
  const items = new Map();
  const keys = createDeskKeys({ getItem: (name) => items.get(name) ?? null, setItem: (name, value) => items.set(name, value) });
  const faces = keys.actions.map(({ key }) => key);
  assert.equal(new Set(faces).size, faces.length);
  assert.deepEqual(keys.change("fine", "c"), { problem: "taken", by: "correct" });
  assert.deepEqual(keys.change("fine", "1"), { problem: "reserved" }); // a field's
  assert.equal(keys.change("fine", "o"), null);
  assert.deepEqual([...items.keys()], ["concord:desk-keys"]);
  assert.deepEqual(fieldRows(4)[0].keys, ["1", "4"]);
});
