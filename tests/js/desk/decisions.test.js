import assert from "node:assert/strict";
import test from "node:test";
import { createWays, readReturn } from "../../../static/js/desk/decisions.js";
import { createDeskKeys, fieldRows } from "../../../static/js/desk/desk.js";
import { createMemory } from "../../../static/js/desk/editor.js";

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

function fakeStorage() {
  const kept = new Map();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => kept.set(name, value),
    removeItem: (name) => kept.delete(name),
  };
}

test("what was typed is there again until it is forgotten, and a broken storage breaks nothing", () => {
  const storage = fakeStorage();
  const memory = createMemory(storage, "case");
  assert.equal(memory.read(), null);
  memory.write({ texts: { question: "What rings?" } });
  assert.deepEqual(createMemory(storage, "case").read().texts, { question: "What rings?" });
  memory.forget();
  assert.equal(memory.read(), null);
  const broken = createMemory({}, "case");
  broken.write({});
  assert.equal(broken.read(), null);
});

test("texts come back at a later case, without the drafts of the one before", () => {
  const memory = createMemory(fakeStorage(), "case");
  const typed = { texts: { question: "What rings?", prompt: "Listen." }, drafts: { question: 1, prompt: 2 } };
  memory.write(typed);
  const there = memory.read((field, id) => field === "prompt" && id === 2);
  assert.deepEqual(there, { texts: typed.texts, drafts: { prompt: 2 } });
});

/** A desk where every dialog is sent as soon as it opens and the server does all; `done` says what happened. */
function waysOut({ dirty }) {
  const done = [];
  const did = (what) => () => done.push(what);
  const says = (what) => async () => done.push(what);
  const opened = (send) => () => send({ comment: "c" });
  const ways = createWays({
    editor: { dirty, forget: did("forget"), content: () => ({ comment: "" }) },
    sending: { fine: says("fine"), withdraw: says("withdraw"), sendBack: says("return"), correct: says("correct") },
    dialogs: { withdrawal: opened, sendingBack: opened },
    discard: did("ask"),
    leave: did("leave"),
  });
  return { ways, done };
}

for (const [way, dirty, expected] of [
  ["withdraw", true, ["ask"]],
  ["withdraw", false, ["withdraw", "forget", "leave"]],
  ["fine", true, ["ask"]],
  ["put_back", true, ["ask"]],
  ["put_back", false, ["forget", "leave"]],
  ["send_back", true, ["return", "leave"]], // the case comes back, and with it what was typed
  ["send_back", false, ["return", "forget", "leave"]],
  ["correct", true, ["correct", "forget", "leave"]],
]) {
  test(`typed corrections are not lost unasked: ${way}${dirty ? " with some" : ""}`, async () => {
    const { ways, done } = waysOut({ dirty });
    await ways[way]({}, 1);
    await new Promise(setImmediate);
    assert.deepEqual(done, expected);
  });
}
