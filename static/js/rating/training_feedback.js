/** Training feedback: after an answer to a training task, what was expected and why, and how the training stands. */
import { h } from "../page/dom.js";
import { inLanguage, translate } from "../page/texts.js";
import { pointsOf } from "./protocol.js";

/** The notice's text, look and button, and its rows: one per question that expects an answer. */
export function feedbackNotice(feedback, { definition, language }) {
  const { passed, questions, state } = feedback;
  const rows = questions.map((each) => questionRow(each, definition, language));
  return {
    text: passed ? translate("As expected.") : translate("Not as expected."),
    look: passed ? "success" : "warning",
    details: [h("ul", { class: "training-feedback" }, rows), h("p", { class: "number" }, standing(feedback))],
    goOn: state === "open" ? translate("Next training task") : state === "passed" ? translate("Start rating") : translate("Continue"),
  };
}

function questionRow({ question, right, expected, tolerance, explanation }, definition, language) {
  const match = definition.questions.find(({ key }) => key === question);
  const title = match ? inLanguage(match.title, language) : question;
  const why = inLanguage(explanation, language) || Object.values(explanation)[0];
  const mark = right ? translate("✓ as expected") : translate("expected");
  return h(
    "li",
    {},
    h("strong", {}, title),
    " ",
    translate("{mark}: {expected}.", { mark, expected: expectedText(expected, tolerance, match, language) }),
    why ? h("p", { dir: "auto" }, why) : null,
  );
}

/** An expected answer in the words of the page. */
export function expectedText({ choice, option, value }, tolerance, question, language) {
  if (choice === "tie") return translate("Tie");
  if (choice === "both_bad") return translate("Both bad");
  if (choice) return choice;
  if (option) return inLanguage(question?.options?.find(({ key }) => key === option)?.title ?? { en: option }, language);
  const label = question && pointsOf(question).find((point) => point.value === value)?.label;
  const text = [value, label ? inLanguage(label, language) : ""].filter((part) => part !== "" && part !== undefined).join(" ");
  return tolerance ? translate("{value}, give or take {tolerance}", { value: text, tolerance }) : text;
}

function standing({ state, n_answered, n_tasks, n_correct, needed }) {
  const numbers = { answered: n_answered, tasks: n_tasks, correct: n_correct, needed };
  if (state === "passed") return translate("You passed the training: {correct} of {tasks} as expected. From now on your answers count.", numbers);
  if (state === "failed") return translate("You did not pass: {correct} of {tasks} as expected, and {needed} are needed.", numbers);
  return translate("Training: {answered} of {tasks} done, {correct} as expected.", numbers);
}
