/**
 * From what a rater entered to what the API takes, and back from its complaints to the place on the page.
 * `values` holds one object per ask id: {choice, value, confidence, text}, each there only once entered.
 */
import { confidenceIsRequired, isRequired, pointsOf } from "./protocol.js";

/** Whether the ask needs nothing more: the moment to move on to the next one. */
export function isComplete(ask, value = {}) {
  const { question } = ask;
  if (question.kind === "text") return Boolean(value.text?.trim());
  return hasMain(question, value) && (!question.confidence || value.confidence !== undefined);
}

/** The body's `answers`: every ask that was answered, none that was left out. */
export function toAnswers(asks, values) {
  return asks.flatMap((ask) => {
    const value = values[ask.id] ?? {};
    if (!hasMain(ask.question, value)) return [];
    return [
      {
        question: ask.question.key,
        ...(ask.position === null ? {} : { position: ask.position }),
        ...mainPart(ask.question, value),
        ...(value.confidence === undefined ? {} : { confidence: value.confidence }),
      },
    ];
  });
}

/** From the API's answers to what was entered: the inverse of `toAnswers`. */
export function toValues(answers) {
  return Object.fromEntries(answers.map(({ question, position, ...value }) => [askIdOf(question, position), value]));
}

/** What keeps the answers from being sent: {ask, part, message, values} in the order of the asks. */
export function problemsOf(asks, values, codes) {
  return asks.flatMap((ask) => {
    const value = values[ask.id] ?? {};
    const { question } = ask;
    const answered = hasMain(question, value);
    const found = [];
    if (!answered && (isRequired(question) || value.confidence !== undefined) && !isExcused(question, codes)) {
      found.push({ ask: ask.id, part: "main", ...missing(question) });
    }
    if (answered && question.kind !== "text" && !isOnScale(question, value)) {
      found.push({ ask: ask.id, part: "main", message: "missing.number", values: rangeOf(question) });
    }
    if (answered && confidenceIsRequired(question) && value.confidence === undefined) {
      found.push({ ask: ask.id, part: "confidence", message: "missing.confidence", values: {} });
    }
    return found;
  });
}

/**
 * Where on the page a field named by the API stands: {ask, part}, or {ask: null, part} for codes and comment,
 * or null when it is nowhere. `answers` are those that were sent: answers[1].choice is the second of them.
 */
export function placeOf(field, answers) {
  const path = /^answers\[(\d+)\](?:\.(\w+))?/.exec(field);
  if (path) {
    const answer = answers[Number(path[1])];
    if (!answer) return null;
    return { ask: askIdOf(answer.question, answer.position), part: path[2] === "confidence" ? "confidence" : "main" };
  }
  const name = /^(codes|comment)\b/.exec(field)?.[1];
  return name ? { ask: null, part: name } : null;
}

function askIdOf(question, position) {
  return position === undefined ? question : `${question}.${position}`;
}

function hasMain(question, value) {
  if (question.kind === "preference") return value.choice !== undefined;
  if (question.kind === "text") return Boolean(value.text?.trim());
  return value.value !== undefined;
}

function mainPart(question, value) {
  if (question.kind === "preference") return { choice: value.choice };
  if (question.kind === "text") return { text: value.text.trim() };
  return { value: value.value };
}

function isExcused(question, codes) {
  return (question.excused_by ?? []).some((code) => codes.includes(code));
}

function isOnScale(question, value) {
  if (question.kind === "preference" || pointsOf(question).length) return true;
  return Number.isFinite(value.value) && value.value >= question.minimum && value.value <= question.maximum;
}

function rangeOf(question) {
  return { least: question.minimum, most: question.maximum };
}

function missing(question) {
  if (question.kind === "preference") return { message: "missing.choice", values: {} };
  if (question.kind === "text") return { message: "missing.text", values: {} };
  if (!pointsOf(question).length) return { message: "missing.number", values: rangeOf(question) };
  if (!question.excused_by?.length) return { message: "missing.value", values: {} };
  return { message: "missing.value_or_code", values: { codes: question.excused_by.join(" / ") } };
}
