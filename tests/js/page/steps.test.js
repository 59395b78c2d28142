import assert from "node:assert/strict";
import test from "node:test";
import { stepTo } from "../../../static/js/page/steps.js";

test("the list is entered at its near end and not left at the other", () => {
  const cases = ["first", "second", "last"];
  assert.deepEqual([stepTo(cases, null, 1), stepTo(cases, null, -1)], ["first", "last"]);
  assert.deepEqual([stepTo(cases, "first", 1), stepTo(cases, "last", 1), stepTo(cases, "first", -1)], ["second", null, null]);
  assert.equal(stepTo([], null, 1), null);
});
