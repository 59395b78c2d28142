/** A text to write about what was heard: with the glossary's words and the present time one press away. */
import { h, uniqueId } from "../page/dom.js";
import { insertWord } from "./insertion.js";
import { clock, inLanguage } from "../page/texts.js";

/** `position()` is the present place in the clip, or null where nothing plays; `onChange(text)` follows typing. */
export function createTextAnswer({ legend, help, maxLength, required, glossary, language, position, onChange, t }) {
  const id = uniqueId("text");
  const area = h("textarea", {
    id,
    rows: "3",
    dir: "auto",
    maxlength: maxLength,
    "aria-required": required ? "true" : null,
    "aria-describedby": `${help ? `${id}-help ` : ""}${id}-problem`,
    oninput: changed,
  });
  const count = h("span", { class: "soft small number" });
  const problem = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
  const stamp = h("button", { type: "button", class: "button stamp", onclick: insertTime });
  const element = h(
    "div",
    { class: "text-answer" },
    h("label", { for: id }, legend, required ? null : h("span", { class: "soft" }, ` (${t("answer.optional")})`)),
    help ? h("p", { class: "help", id: `${id}-help` }, help) : null,
    area,
    h("div", { class: "row apart" }, position ? stamp : null, count),
    problem,
    glossary.length ? wordList() : null,
  );

  function showCount() {
    count.textContent = t("answer.characters", { used: area.value.length, most: maxLength });
  }

  function changed() {
    showCount();
    onChange(area.value);
  }

  function insert(word) {
    const { text, caret } = insertWord(area.value, area.selectionStart, area.selectionEnd, word);
    if (text.length > maxLength) return;
    area.value = text;
    area.focus();
    area.setSelectionRange(caret, caret);
    changed();
  }

  function insertTime() {
    insert(`@${clock(position())}`);
  }

  function wordList() {
    const words = (list) =>
      list.map((word) => {
        const text = inLanguage(word, language);
        return h("button", { type: "button", class: "word", onclick: () => insert(text) }, text);
      });
    const wide = globalThis.matchMedia("(min-width: 64rem)").matches;
    return h(
      "details",
      { class: "glossary", open: wide },
      h("summary", {}, t("answer.glossary")),
      glossary.map((row) =>
        h(
          "div",
          { class: "glossary-row", role: "group", "aria-label": inLanguage(row.dimension, language) },
          h("span", { class: "glossary-about", "aria-hidden": "true" }, inLanguage(row.dimension, language)),
          h("span", { class: "glossary-words" }, words(row.positive ?? []), words(row.negative ?? [])),
        ),
      ),
    );
  }

  showCount();
  return {
    element,
    write(text) {
      area.value = text;
      showCount();
    },
    press: () => false,
    focus: () => area.focus(),
    /** The button says which time it would insert. */
    showTime() {
      if (!position) return;
      const label = t("answer.insert_time", { time: `@${clock(position())}` });
      if (stamp.textContent !== label) stamp.textContent = label;
    },
    showProblem(text) {
      problem.textContent = text;
      problem.hidden = !text;
      if (text) area.setAttribute("aria-invalid", "true");
      else area.removeAttribute("aria-invalid");
    },
  };
}
