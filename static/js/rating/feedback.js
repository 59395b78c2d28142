/** What a rater may add to any answer: feedback codes and a comment. */
import { h, uniqueId } from "../page/dom.js";
import { inLanguage } from "../page/texts.js";

const MAX_COMMENT = 4000;

/** `onChange({codes, comment})`; `press(key)` switches the code of that letter. Null where the protocol asks neither. */
export function createReport(definition, { language, t, onChange }) {
  const codes = definition.codes ?? [];
  if (!codes.length && !definition.comment) return null;
  const boxes = codes.map((code) => h("input", { type: "checkbox", value: code.key, onchange: changed }));
  const area = definition.comment ? commentArea(changed) : null;
  const problem = h("p", { class: "problem", id: uniqueId("report-problem"), hidden: true });
  const element = h(
    "section",
    { class: "report card" },
    codes.length ? codeList() : null,
    area ? h("div", { class: "field" }, h("label", { for: area.id }, t("answer.comment")), area) : null,
    problem,
  );

  function codeList() {
    return h(
      "fieldset",
      { class: "choices codes", "aria-describedby": problem.id },
      h("legend", {}, t("answer.codes")),
      h("div", { class: "options" }, codes.map((code, index) => h("label", { class: "option" }, boxes[index], codeFace(code)))),
    );
  }

  function codeFace(code) {
    return h(
      "span",
      { class: "option-face" },
      h("span", { class: "option-value" }, code.key),
      h("span", { class: "option-label" }, inLanguage(code.title, language)),
      h("span", { class: "option-meaning" }, inLanguage(code.meaning, language)),
    );
  }

  function read() {
    return { codes: boxes.filter((box) => box.checked).map((box) => box.value), comment: area?.value ?? "" };
  }

  function changed() {
    onChange(read());
  }

  return {
    element,
    write(saved) {
      for (const box of boxes) box.checked = saved.codes.includes(box.value);
      if (area) area.value = saved.comment;
    },
    press(key) {
      const box = boxes.find(({ value }) => value.toUpperCase() === key.toUpperCase());
      if (!box) return false;
      box.checked = !box.checked;
      changed();
      return true;
    },
    focus: (part) => (part === "comment" && area ? area : boxes[0] ?? area).focus(),
    showProblem(text) {
      problem.textContent = text;
      problem.hidden = !text;
    },
  };
}

function commentArea(oninput) {
  return h("textarea", { id: uniqueId("comment"), rows: "2", dir: "auto", maxlength: MAX_COMMENT, oninput });
}
