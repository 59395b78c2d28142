/** Prediction hint: a model's prediction for a task, where the study shows it: in words, before the questions. */
import { h } from "../page/dom.js";
import { inLanguage } from "../page/texts.js";
import { CANDIDATE_LABELS } from "./protocol.js";

/** `hint`: the predictions per question, as the briefing has them. */
export function hintSection({ hint, definition, language, t }) {
  const title = t("hint.title");
  const rows = hint.map((prediction) => {
    const question = h("span", { class: "soft" }, titleOf(prediction, definition, language));
    return h("li", {}, question, " ", h("strong", {}, predictionText(prediction, t)));
  });
  return h(
    "section",
    { class: "card hint", "aria-label": title },
    h("h2", {}, title),
    h("ul", { class: "hint-list" }, rows),
    h("p", { class: "small soft" }, t("hint.note")),
  );
}

/** One prediction in words. */
export function predictionText({ side, percent, value, values }, t) {
  if (percent !== undefined) return side === null ? t("hint.even") : t("hint.side", { side, percent });
  if (!values) return t("hint.rating", { value });
  const texts = values.flatMap((each, index) =>
    each === null ? [] : [t("hint.of", { candidate: CANDIDATE_LABELS[index], value: each })],
  );
  return texts.join("; ");
}

function titleOf({ question }, definition, language) {
  const match = definition.questions.find(({ key }) => key === question);
  return match ? inLanguage(match.title, language) : question;
}
