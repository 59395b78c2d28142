/**
 * Answers: from what a rater entered to the API's payload and back, and from the API's validation errors to the place on the
 * page. `values` has one object per question instance id: {choice, value, confidence, text}, each there once entered. Pure.
 */
import { translate } from "../page/texts.js";
import { confidenceIsRequired, isRequired, pointsOf } from "./protocol.js";

/** Whether the question instance has all its parts: the moment to move on to the next one. */
export function isComplete(instance, value = {}) {
  const { question } = instance;
  if (question.kind === "text") return Boolean(value.text?.trim());
  return isAnswered(question, value) && (!question.confidence || value.confidence !== undefined);
}

/** The payload's `answers`: every question instance that has an answer. */
export function toAnswers(instances, values) {
  return instances.flatMap((instance) => {
    const value = values[instance.id] ?? {};
    if (!isAnswered(instance.question, value)) return [];
    return [
      {
        question: instance.question.key,
        ...(instance.position === null ? {} : { position: instance.position }),
        ...answerFields(instance.question, value),
        ...(value.confidence === undefined ? {} : { confidence: value.confidence }),
      },
    ];
  });
}

/** The inverse of `toAnswers`. */
export function toValues(answers) {
  return Object.fromEntries(answers.map(({ question, position, ...value }) => [instanceIdOf(question, position), value]));
}

/** Validation errors that keep the answers from being sent: {instanceId, part, message, values}, in the order of the page. */
export function problemsOf(instances, values, codes) {
  return instances.flatMap((instance) => {
    const value = values[instance.id] ?? {};
    const { question } = instance;
    const hasAnswer = isAnswered(question, value);
    const problems = [];
    if (!hasAnswer && (isRequired(question) || value.confidence !== undefined) && !isExcused(question, codes)) {
      problems.push({ instanceId: instance.id, part: "main", ...missingAnswer(question) });
    }
    if (hasAnswer && question.kind !== "text" && !isOnScale(question, value)) {
      problems.push({ instanceId: instance.id, part: "main", message: translate("Give a number from {least} to {most}."), values: rangeOf(question) });
    }
    if (hasAnswer && confidenceIsRequired(question) && value.confidence === undefined) {
      problems.push({ instanceId: instance.id, part: "confidence", message: translate("Say how sure you are."), values: {} });
    }
    return problems;
  });
}

/**
 * The place on the page of a field that the API names: {instanceId, part}, with null for codes and comment; null for any
 * other field. `answers` are those that were sent: answers[1].choice is the second of them.
 */
export function placeOf(field, answers) {
  const path = /^answers\[(\d+)\](?:\.(\w+))?/.exec(field);
  if (path) {
    const answer = answers[Number(path[1])];
    if (!answer) return null;
    return { instanceId: instanceIdOf(answer.question, answer.position), part: path[2] === "confidence" ? "confidence" : "main" };
  }
  const name = /^(codes|comment)\b/.exec(field)?.[1];
  return name ? { instanceId: null, part: name } : null;
}

function instanceIdOf(question, position) {
  return position === undefined ? question : `${question}.${position}`;
}

function isAnswered(question, value) {
  if (question.kind === "preference") return value.choice !== undefined;
  if (question.kind === "text") return Boolean(value.text?.trim());
  return value.value !== undefined;
}

function answerFields(question, value) {
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

function missingAnswer(question) {
  if (question.kind === "preference") return { message: translate("Choose one."), values: {} };
  if (question.kind === "text") return { message: translate("Write at least one sentence."), values: {} };
  if (!pointsOf(question).length) return { message: translate("Give a number from {least} to {most}."), values: rangeOf(question) };
  if (!question.excused_by?.length) return { message: translate("Give a rating."), values: {} };
  return { message: translate("Give a rating, or say why not with code {codes}."), values: { codes: question.excused_by.join(" / ") } };
}
