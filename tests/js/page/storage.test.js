import assert from "node:assert/strict";
import test from "node:test";
import { safeStorage } from "../../../static/js/page/storage.js";

test("values are read as they were written, and null once removed", () => {
  const items = new Map();
  const storage = safeStorage({
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, text) => items.set(key, text),
    removeItem: (key) => items.delete(key),
  });
  storage.setJson("json", { a: [1] });
  storage.setText("text", "1");
  assert.deepEqual([storage.getJson("json"), storage.getText("text")], [{ a: [1] }, "1"]);
  storage.remove("json");
  assert.equal(storage.getJson("json"), null);
});

test("storage that is absent, forbidden or holds something else reads as null, and never throws", () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  const garbled = { getItem: () => "{", setItem: refuse, removeItem: refuse };
  for (const broken of [undefined, null, { getItem: refuse, setItem: refuse, removeItem: refuse }, garbled]) {
    const storage = safeStorage(broken);
    storage.setJson("key", {});
    storage.remove("key");
    assert.equal(storage.getJson("key"), null);
    assert.ok(Array.isArray(storage.keys()));
  }
});
