import assert from "node:assert/strict";
import test from "node:test";
import { createDrafts, isEmpty, newUuid } from "../../../static/js/delivery/drafts.js";

/** localStorage as far as drafts use it: its items are its own keys. */
function fakeStorage() {
  const storage = {};
  const method = (name, value) => Object.defineProperty(storage, name, { value, enumerable: false });
  method("getItem", (key) => storage[key] ?? null);
  method("setItem", (key, value) => (storage[key] = String(value)));
  method("removeItem", (key) => delete storage[key]);
  return storage;
}

test("a draft survives a reload with the name of its vote", () => {
  const storage = fakeStorage();
  const draft = createDrafts(storage).open("one");
  draft.values.evidence = { text: "so far" };
  createDrafts(storage).save("one", draft);
  const again = createDrafts(storage).open("one");
  assert.equal(again.clientId, draft.clientId);
  assert.deepEqual(again.values, { evidence: { text: "so far" } });
});

test("drafts of different assignments have different names", () => {
  const drafts = createDrafts(fakeStorage());
  assert.notEqual(drafts.open("one").clientId, drafts.open("two").clientId);
});

test("a stored vote leaves no draft behind, and old drafts go by themselves", () => {
  const storage = fakeStorage();
  let day = 0;
  const drafts = createDrafts(storage, { now: () => day * 24 * 3600 * 1000 });
  drafts.save("one", drafts.open("one"));
  drafts.save("two", drafts.open("two"));
  drafts.remove("one");
  assert.deepEqual(Object.keys(storage), ["concord:draft:two"]);
  day = 3;
  drafts.open("three");
  assert.deepEqual(Object.keys(storage), []);
});

test("without storage the page works on", () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  const drafts = createDrafts({ getItem: refuse, setItem: refuse, removeItem: refuse });
  const draft = drafts.open("one");
  drafts.save("one", draft);
  assert.match(draft.clientId, /^[0-9a-f-]{36}$/);
});

test("a draft is empty until something is entered, and again when it is taken back", () => {
  const draft = { values: {}, codes: [], comment: " " };
  assert.equal(isEmpty(draft), true);
  assert.equal(isEmpty({ ...draft, values: { evidence: { text: "" }, alignment: {} } }), true);
  assert.equal(isEmpty({ ...draft, values: { correctness: { value: 0 } } }), false);
  assert.equal(isEmpty({ ...draft, codes: ["U"] }), false);
});

test("names are UUIDs of version 4 also where the page came without TLS", (t) => {
  const { crypto } = globalThis;
  const plain = { getRandomValues: (bytes) => crypto.getRandomValues(bytes) };
  Object.defineProperty(globalThis, "crypto", { value: plain, configurable: true });
  t.after(() => Object.defineProperty(globalThis, "crypto", { value: crypto, configurable: true }));
  assert.match(newUuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("a draft that an earlier version of this page stored is found under its assignment", () => {
  const storage = fakeStorage();
  const draft = { clientId: "key", values: { alignment: { choice: "A" } }, codes: ["Q"], comment: "so far", savedAt: Date.now() };
  storage.setItem("concord:draft:one", JSON.stringify(draft));
  assert.deepEqual(createDrafts(storage).open("one"), draft);
});
