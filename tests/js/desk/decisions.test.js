import assert from "node:assert/strict";
import test from "node:test";
import { createExits, readReturn } from "../../../static/js/desk/decisions.js";

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
  assert.equal(readReturn(form([["to", "raters"], ["votes", "1"]])).problem, "Choose at least one rater, or the pool.");
  assert.equal(readReturn(form([["votes", "1"]])).problem, "Choose at least one rater, or the pool.");
});

/** A desk where every dialog is sent as soon as it opens and the server does all; `done` says what happened. */
function exitsOf({ dirty }) {
  const done = [];
  const record = (what) => () => done.push(what);
  const recordRequest = (what) => async () => done.push(what);
  const sendAtOnce = (send) => () => send({ comment: "c" });
  const exits = createExits({
    editor: { isDirty: dirty, removeStored: record("remove"), corrections: () => ({ comment: "" }) },
    caseRequests: { fine: recordRequest("fine"), withdraw: recordRequest("withdraw"), sendBack: recordRequest("return"), correct: recordRequest("correct") },
    dialogs: { withdrawal: sendAtOnce, returnToRaters: sendAtOnce },
    discard: record("ask"),
    leave: record("leave"),
  });
  return { exits, done };
}

for (const [exit, dirty, expected] of [
  ["withdraw", true, ["ask"]],
  ["withdraw", false, ["withdraw", "remove", "leave"]],
  ["fine", true, ["ask"]],
  ["put_back", true, ["ask"]],
  ["put_back", false, ["remove", "leave"]],
  ["send_back", true, ["return", "leave"]], // the case comes back, and with it what was typed
  ["send_back", false, ["return", "remove", "leave"]],
  ["correct", true, ["correct", "remove", "leave"]],
]) {
  test(`typed corrections are not lost unasked: ${exit}${dirty ? " with some" : ""}`, async () => {
    const { exits, done } = exitsOf({ dirty });
    await exits[exit]({}, 1);
    await new Promise(setImmediate);
    assert.deepEqual(done, expected);
  });
}
