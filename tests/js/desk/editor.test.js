import assert from "node:assert/strict";
import test from "node:test";
import { createStoredCorrections } from "../../../static/js/desk/editor.js";

function fakeStorage() {
  const items = new Map();
  return {
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => items.set(name, value),
    removeItem: (name) => items.delete(name),
  };
}

test("what was typed is there again until it is forgotten, and a broken storage breaks nothing", () => {
  const storage = fakeStorage();
  const stored = createStoredCorrections(storage, "case");
  assert.equal(stored.read(), null);
  stored.write({ texts: { question: "What rings?" } });
  assert.deepEqual(createStoredCorrections(storage, "case").read().texts, { question: "What rings?" });
  stored.remove();
  assert.equal(stored.read(), null);
  const broken = createStoredCorrections({}, "case");
  broken.write({});
  assert.equal(broken.read(), null);
});

test("texts come back at a later case, without the drafts of the one before", () => {
  const stored = createStoredCorrections(fakeStorage(), "case");
  const corrections = { texts: { question: "What rings?", prompt: "Listen." }, drafts: { question: 1, prompt: 2 } };
  stored.write(corrections);
  const restored = stored.read((field, id) => field === "prompt" && id === 2);
  assert.deepEqual(restored, { texts: corrections.texts, drafts: { prompt: 2 } });
});
