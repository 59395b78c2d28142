import assert from "node:assert/strict";
import test from "node:test";
import { tokens, wordDiff } from "../../../static/js/desk/word_diff.js";

const TEXTS = [
  "",
  "The red cat sat on the mat.",
  "The blue dog sat on a mat",
  "One line.\nAnother  line.\n",
  "One line.\n\nAnother line, longer.\n",
  "钢琴独奏在前，小提琴随后。",
  "小提琴独奏在前，钢琴随后。",
  "Naïve 𝄞 café, don't",
];
const side = (pieces, left) => pieces.filter(({ kind }) => kind !== left).map(({ text }) => text).join("");
const marked = (before, after) => wordDiff(before, after).map(({ kind, text }) => ({ same: "", gone: "-", new: "+" })[kind] + text);

test("the pieces make up both texts to the blank, and no two of a kind follow one another", () => {
  for (const before of TEXTS) {
    for (const after of TEXTS) {
      const pieces = wordDiff(before, after);
      assert.equal(side(pieces, "new"), before);
      assert.equal(side(pieces, "gone"), after);
      assert.ok(pieces.every(({ kind }, at) => kind !== pieces[at - 1]?.kind));
    }
  }
});

test("neighbouring words change together", () => {
  assert.deepEqual(marked("A red cat sat.", "A blue dog sat."), ["A ", "-red cat", "+blue dog", " sat."]);
});

test("one word put in or taken out leaves the rest alone", () => {
  assert.deepEqual(marked("It rings twice.", "It rings only twice."), ["It rings ", "+only ", "twice."]);
  assert.deepEqual(marked("It rings, then stops.", "It rings."), ["It rings", "-, then stops", "."]);
});

test("a script without blanks is compared by its characters, as on the server", () => {
  assert.deepEqual(tokens("Bach的赋格 No_1"), ["Bach", "的", "赋", "格", " ", "No_1"]);
  assert.deepEqual(marked("钢琴独奏", "小提琴独奏"), ["-钢", "+小提", "琴独奏"]);
});

test("a line end that is gone is shown", () => {
  assert.ok(marked("one\ntwo", "one two").includes("-\n"));
});

test("equal texts have nothing changed, and empty ones have no pieces", () => {
  assert.deepEqual(marked("Just so.", "Just so."), ["Just so."]);
  assert.deepEqual(wordDiff("", ""), []);
});

test("very long texts that differ throughout are shown whole, and one change in them is still found", () => {
  const before = "a ".repeat(4000);
  assert.deepEqual(wordDiff(before, "b ".repeat(4000)).map(({ kind }) => kind), ["gone", "new", "same"]);
  assert.deepEqual(marked(`${before}x ${before}`, `${before}y ${before}`).slice(1, 3), ["-x", "+y"]);
});
