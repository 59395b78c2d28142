import assert from "node:assert/strict";
import test from "node:test";
import { clock, clockOf, fill, inLanguage, translate } from "../../../static/js/page/texts.js";

test("a protocol's text is read in the page's language, else in English", () => {
  assert.equal(inLanguage({ en: "Tie", "zh-hans": "平局" }, "zh-hans"), "平局");
  assert.equal(inLanguage({ en: "Tie" }, "zh-hans"), "Tie");
  assert.equal(inLanguage("Tie", "zh-hans"), "Tie");
  assert.equal(inLanguage(undefined, "en"), "");
});

test("blanks are filled in, unknown ones stay visible", () => {
  assert.equal(fill("{done} of {tasks}", { done: 0 }), "0 of {tasks}");
  assert.equal(translate("Hello {name}", { name: "Ada" }), "Hello Ada"); // English where no catalogue is loaded
});

test("times read as people say them", () => {
  assert.deepEqual([0, 7.9, 65, 3660, NaN].map(clock), ["0:00", "0:07", "1:05", "61:00", "0:00"]);
});

test("a length counts its begun second, the place in it only full ones, and at the end both say the same", () => {
  assert.deepEqual(clockOf(8.3, 8.6), ["0:08", "0:09"]);
  assert.deepEqual(clockOf(8.58, 8.6), ["0:09", "0:09"]);
  assert.deepEqual(clockOf(0, 30.02), ["0:00", "0:30"]); // an encoder's padding is no second
  assert.deepEqual(clockOf(0, 0.4), ["0:00", "0:01"]);
});
