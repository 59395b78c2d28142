import assert from "node:assert/strict";
import test from "node:test";
import { predictionText } from "../../../static/js/rating/prediction_hint.js";

test("a preference is told as its side with the chance of it", () => {
  assert.equal(predictionText({ side: "B", percent: 82 }), "B will be chosen, with a chance of 82 %");
});

test("where a model cannot tell, no side is named", () => {
  assert.equal(predictionText({ side: null, percent: 50 }), "either may be chosen: the model cannot tell");
});

test("a rating is told as a number, also one of zero", () => {
  assert.equal(predictionText({ value: 3.8 }), "a rating of about 3.8");
  assert.equal(predictionText({ value: 0 }), "a rating of about 0");
});

test("ratings of several candidates name those that the model rates, in the order shown", () => {
  assert.equal(predictionText({ values: [3, null, 4.5] }), "A: about 3; C: about 4.5");
});
