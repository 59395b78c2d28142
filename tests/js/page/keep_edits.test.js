import assert from "node:assert/strict";
import test from "node:test";
import { entriesOf, restore } from "../../../static/js/page/keep_edits.js";

const text = (name, value) => ({ name, type: "text", value });
const box = (name, value, checked) => ({ name, type: "checkbox", value, checked });
const form = (...elements) => ({ elements });

test("what somebody typed and ticked is kept, without secrets and without what the page put there", () => {
  const entries = entriesOf(
    form(text("title", "Birds"), box("codes", "Q", true), box("codes", "R", false), { name: "pw", type: "password", value: "x" }, { name: "csrf", type: "hidden", value: "t" }),
  );
  assert.deepEqual(entries, [["title", "Birds"], ["codes", "Q"]]);
});

test("it is put back field by field, also where a name occurs twice, and what the form no longer has is passed over", () => {
  const now = form(text("line", "a"), text("line", "b"), box("codes", "Q", true), box("codes", "R", false), text("new", "stays"));
  restore(now, [["line", "one"], ["line", "two"], ["codes", "R"], ["gone", "?"]]);
  assert.deepEqual(now.elements.map(({ type, value, checked }) => (type === "text" ? value : checked)), ["one", "two", false, true, "stays"]);
});
