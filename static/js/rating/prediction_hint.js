/** What a model says of a task, where the study shows it: in words, before the questions, and plainly a guess. */
import { h } from "../page/dom.js";
import { CANDIDATE_LABELS } from "./protocol.js";
import { inLanguage } from "../page/texts.js";

/** `hint`: per question, as the briefing has it. */
export function hintSection({ hint, definition, language, t }) {
  const title = t("hint.title");
  const rows = hint.map((said) => h("li", {}, h("span", { class: "soft" }, titleOf(said, definition, language)), " ", h("strong", {}, wordsOf(said, t))));
  return h(
    "section",
    { class: "card hint", "aria-label": title },
    h("h2", {}, title),
    h("ul", { class: "hint-list" }, rows),
    h("p", { class: "small soft" }, t("hint.note")),
  );
}

/** One answer of the model in words. */
export function wordsOf({ side, percent, value, values }, t) {
  if (percent !== undefined) return side === null ? t("hint.even") : t("hint.side", { side, percent });
  if (!values) return t("hint.rating", { value });
  const known = values.map((each, place) => (each === null ? null : t("hint.of", { candidate: CANDIDATE_LABELS[place], value: each })));
  return known.filter((each) => each !== null).join("; ");
}

function titleOf({ question }, definition, language) {
  const asked = definition.questions.find(({ key }) => key === question);
  return asked ? inLanguage(asked.title, language) : question;
}
