import assert from "node:assert/strict";
import test from "node:test";
import { isPageShortcut, keyNameOf } from "../../../static/js/keys/shortcuts.js";

const press = (key, more = {}) => keyNameOf({ key, ...more });
const BODY = { tag: "BODY" };

test("presses have one name each", () => {
  assert.equal(press("A", { shiftKey: true }), "a");
  assert.equal(press(" "), "Space");
  assert.equal(press("Enter", { metaKey: true }), "Ctrl+Enter");
  assert.equal(press("?", { shiftKey: true }), "?");
  assert.equal(press("ArrowLeft"), null);
});

test("digits with Alt are told by where the key is: some systems write signs with it", () => {
  assert.equal(press("¡", { altKey: true, code: "Digit1" }), "Alt+1");
  assert.equal(press("1", { altKey: true, ctrlKey: true, code: "Digit1" }), null);
});

test("plus and minus need no Shift", () => {
  assert.deepEqual(["=", "+", "_", "-"].map((key) => press(key)), ["+", "+", "-", "-"]);
});

test("signs that a keyboard has only with AltGr count as typed", () => {
  const withAltGraph = { ctrlKey: true, altKey: true, getModifierState: (name) => name === "AltGraph" };
  assert.equal(press("[", withAltGraph), "[");
  assert.equal(press("Dead", withAltGraph), null);
});

test("the browser's own chords and half-typed words are left alone", () => {
  assert.equal(press("a", { ctrlKey: true }), null);
  assert.equal(press("a", { altKey: true }), null);
  assert.equal(press("Enter", { ctrlKey: true, isComposing: true }), null);
});

test("in a text only sending and leaving are ours", () => {
  const text = { tag: "TEXTAREA", type: "textarea" };
  assert.deepEqual(["a", "1", "Space", "Enter", "?"].filter((name) => isPageShortcut(name, text)), []);
  assert.equal(isPageShortcut("Ctrl+Enter", text), true);
  assert.equal(isPageShortcut("Escape", text), true);
});

test("a button that was clicked has neither Space nor Enter for itself; a link keeps Enter", () => {
  assert.equal(isPageShortcut("Enter", { tag: "BUTTON", isClicked: true }), true);
  assert.equal(isPageShortcut("Space", { tag: "BUTTON", isClicked: true }), true);
  assert.equal(isPageShortcut("Enter", { tag: "A", isClicked: true }), false);
});

test("Space and Enter stay with what they would press", () => {
  assert.equal(isPageShortcut("Space", { tag: "BUTTON" }), false);
  assert.equal(isPageShortcut("Enter", { tag: "A" }), false);
  assert.equal(isPageShortcut("Space", { tag: "INPUT", type: "checkbox" }), false);
  assert.equal(isPageShortcut("Space", { tag: "INPUT", type: "radio", checked: false }), false);
  assert.equal(isPageShortcut("Space", { tag: "INPUT", type: "radio", checked: true }), true);
  assert.equal(isPageShortcut("a", { tag: "BUTTON" }), true);
  assert.equal(isPageShortcut("Space", BODY), true);
});

test("Enter in a number goes on instead of sending the form", () => {
  const number = { tag: "INPUT", type: "number" };
  assert.equal(isPageShortcut("Enter", number), true);
  assert.equal(isPageShortcut("5", number), false);
});

test("a slider keeps its arrows and leaves every other key to the page", () => {
  const slider = { tag: "INPUT", type: "range" };
  for (const name of ["Enter", "Space", "s", "Escape"]) assert.equal(isPageShortcut(name, slider), true);
});
