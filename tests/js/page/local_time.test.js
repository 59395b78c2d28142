import assert from "node:assert/strict";
import test from "node:test";

globalThis.document = { addEventListener() {} };
const { localText } = await import("../../../static/js/page/local_time.js");

test("a moment is written year first, to the minute, on a 24-hour clock", () => {
  const moment = new Date(2026, 2, 1, 7, 5, 59);
  assert.equal(localText(moment, true), "2026-03-01 07:05");
  assert.equal(localText(moment, false), "07:05");
});
