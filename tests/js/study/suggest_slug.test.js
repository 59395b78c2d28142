import assert from "node:assert/strict";
import test from "node:test";
import { slugOf } from "../../../static/js/study/suggest_slug.js";

test("an address is made of a title's letters and digits", () => {
  assert.equal(slugOf("Bird calls, second round!"), "bird-calls-second-round");
  assert.equal(slugOf("  Café №2 – Übung "), "cafe-no2-ubung");
});

test("a title without Latin letters suggests nothing", () => {
  assert.equal(slugOf("音乐对比"), "");
});

test("an address ends on a letter or digit where a long title is cut", () => {
  assert.equal(slugOf(`${"a".repeat(79)} b`), "a".repeat(79));
});
