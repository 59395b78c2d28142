import assert from "node:assert/strict";
import test from "node:test";
import { insertWord } from "../../../static/js/rating/insertion.js";
import { clock, fill, inLanguage, translator } from "../../../static/js/page/texts.js";

test("a protocol's text is read in the page's language, else in English", () => {
  assert.equal(inLanguage({ en: "Tie", "zh-hans": "平局" }, "zh-hans"), "平局");
  assert.equal(inLanguage({ en: "Tie" }, "zh-hans"), "Tie");
  assert.equal(inLanguage("Tie", "zh-hans"), "Tie");
  assert.equal(inLanguage(undefined, "en"), "");
});

test("blanks are filled in, unknown ones stay visible", () => {
  assert.equal(fill("{done} of {tasks}", { done: 0 }), "0 of {tasks}");
  assert.equal(translator({ greet: "Hello {name}" })("greet", { name: "Ada" }), "Hello Ada");
  assert.equal(translator({})("no.such.text"), "no.such.text");
});

test("times read as people say them", () => {
  assert.deepEqual([0, 7.9, 65, 3660, NaN].map(clock), ["0:00", "0:07", "1:05", "61:00", "0:00"]);
});

test("a word goes in at the caret with the spaces around it", () => {
  assert.deepEqual(insertWord("", 0, 0, "harsh"), { text: "harsh", caret: 5 });
  assert.deepEqual(insertWord("A is", 4, 4, "harsh"), { text: "A is harsh", caret: 10 });
  assert.deepEqual(insertWord("A is , B is not", 5, 5, "harsh"), { text: "A is harsh, B is not", caret: 10 });
  assert.deepEqual(insertWord("at here", 3, 3, "@0:20"), { text: "at @0:20 here", caret: 9 });
});

test("a word replaces what is selected", () => {
  assert.deepEqual(insertWord("A is xxx now", 5, 8, "harsh"), { text: "A is harsh now", caret: 10 });
});
