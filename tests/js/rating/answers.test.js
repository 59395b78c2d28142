import assert from "node:assert/strict";
import test from "node:test";
import { isComplete, placeOf, problemsOf, toAnswers } from "../../../static/js/rating/answers.js";
import { questionInstances } from "../../../static/js/rating/protocol.js";
import { comparison, panel, rating } from "./protocols.js";

const pair = questionInstances(comparison, 2);
const complete = {
  alignment: { choice: "A", confidence: 4 },
  musicality: { choice: "B", confidence: 2 },
  evidence: { text: " A keeps time. " },
};
const problems = (instances, values, codes = []) => problemsOf(instances, values, codes).map(({ instanceId, part, message }) => [instanceId, part, message]);

test("a complete comparison is sent as the API takes it", () => {
  assert.deepEqual(problemsOf(pair, complete, []), []);
  assert.deepEqual(toAnswers(pair, complete), [
    { question: "alignment", choice: "A", confidence: 4 },
    { question: "musicality", choice: "B", confidence: 2 },
    { question: "evidence", text: "A keeps time." },
  ]);
});

test("everything that is missing is named, in the order of the page", () => {
  const values = { alignment: { choice: "A" }, evidence: { text: "  " } };
  assert.deepEqual(problems(pair, values), [
    ["alignment", "confidence", "Say how sure you are."],
    ["musicality", "main", "Choose one."],
    ["evidence", "main", "Write at least one sentence."],
  ]);
});

test("a confidence without a choice is not sent and asks for the choice", () => {
  const values = { ...complete, alignment: { confidence: 3 } };
  assert.deepEqual(problems(pair, values), [["alignment", "main", "Choose one."]]);
  assert.equal(toAnswers(pair, values).length, 2);
});

test("a code that excuses from a question makes its absence valid", () => {
  const instances = questionInstances(rating, 1);
  assert.deepEqual(problems(instances, {}, ["A"]), [["correctness", "main", "Give a rating, or say why not with code {codes}."]]);
  assert.deepEqual(problems(instances, {}, ["U"]), []);
  assert.deepEqual(toAnswers(instances, {}), []);
});

test("a question asked of each candidate carries its position", () => {
  const instances = questionInstances(panel, 2);
  assert.deepEqual(instances.map(({ id }) => id), ["correct.0", "correct.1", "quality"]);
  const values = { "correct.0": { value: 0 }, "correct.1": { value: 1 } };
  assert.deepEqual(toAnswers(instances, values), [
    { question: "correct", position: 0, value: 0 },
    { question: "correct", position: 1, value: 1 },
  ]);
});

test("a question that may be left out is not missed, but its range is kept", () => {
  const instances = questionInstances(panel, 2).slice(2);
  assert.deepEqual(problems(instances, {}), []);
  assert.deepEqual(problems(instances, { quality: { value: 101 } }), [["quality", "main", "Give a number from {least} to {most}."]]);
});

test("a question is complete only with its confidence", () => {
  assert.equal(isComplete(pair[0], { choice: "A" }), false);
  assert.equal(isComplete(pair[0], { choice: "A", confidence: 1 }), true);
  assert.equal(isComplete(pair[2], { text: " " }), false);
});

test("the API's complaints find their place on the page", () => {
  const sent = toAnswers(pair, complete);
  assert.deepEqual(placeOf("answers[1].confidence", sent), { instanceId: "musicality", part: "confidence" });
  assert.deepEqual(placeOf("answers[0].choice", sent), { instanceId: "alignment", part: "main" });
  assert.deepEqual(placeOf("answers[0]", [{ question: "correct", position: 1 }]), { instanceId: "correct.1", part: "main" });
  assert.deepEqual(placeOf("codes[0]", sent), { instanceId: null, part: "codes" });
  assert.equal(placeOf("answers", sent), null);
  assert.equal(placeOf("telemetry", sent), null);
});
