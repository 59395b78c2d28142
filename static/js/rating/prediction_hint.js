/** Prediction hint: a model's prediction for a task, where the study shows it: in words, before the questions. */
import { h } from "../page/dom.js";
import { inLanguage, translate } from "../page/texts.js";
import { CANDIDATE_LABELS } from "./protocol.js";

/** `hint`: the predictions per question, as the briefing has them. */
export function hintSection({ hint, definition, language }) {
  const title = translate("Model prediction");
  const rows = hint.map((prediction) => {
    const question = h("span", { class: "soft" }, titleOf(prediction, definition, language));
    return h("li", {}, question, " ", h("strong", {}, predictionText(prediction)));
  });
  return h(
    "section",
    { class: "card hint", "aria-label": title },
    h("h2", {}, title),
    h("ul", { class: "hint-list" }, rows),
    h("p", { class: "small soft" }, translate("This is a model's prediction, and it may be wrong. What counts is your own judgment.")),
  );
}

/** One prediction in words. */
export function predictionText({ side, percent, value, values }) {
  if (percent !== undefined) return side === null ? translate("either may be chosen: the model cannot tell") : translate("{side} will be chosen, with a chance of {percent} %", { side, percent });
  if (!values) return translate("a rating of about {value}", { value });
  const texts = values.flatMap((each, index) =>
    each === null ? [] : [translate("{candidate}: about {value}", { candidate: CANDIDATE_LABELS[index], value: each })],
  );
  return texts.join("; ");
}

function titleOf({ question }, definition, language) {
  const match = definition.questions.find(({ key }) => key === question);
  return match ? inLanguage(match.title, language) : question;
}
