/**
 * Protocol definition: its questions, choices, scale points and answer keys. A question instance is a question put once: to
 * the task, or to one candidate. Pure.
 */
import { translate } from "../page/texts.js";

export const CANDIDATE_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The question instances of a task, in order: {id, question, position}; `id` names one in drafts, errors and on the page. */
export function questionInstances(definition, nCandidates) {
  return definition.questions.flatMap((question) =>
    question.per_candidate
      ? Array.from({ length: nCandidates }, (_, position) => ({
          id: `${question.key}.${position}`,
          question,
          position,
        }))
      : [{ id: question.key, question, position: null }],
  );
}

export function isRequired(question) {
  return question.required !== false;
}

export function confidenceIsRequired(question) {
  return Boolean(question.confidence) && question.confidence.required !== false;
}

/** The choices of a preference question, in the order shown. */
export function choicesOf(question) {
  return ["A", "B", ...(question.tie ? ["tie"] : []), ...(question.both_bad ? ["both_bad"] : [])];
}

/** A scale's points. A short whole-number range counts as points without labels; a long one has none. */
export function pointsOf(question) {
  if (question.points?.length) return question.points;
  const { minimum, maximum } = question;
  if (!Number.isInteger(minimum) || !Number.isInteger(maximum) || maximum - minimum > 10) return [];
  return Array.from({ length: maximum - minimum + 1 }, (_, step) => ({ value: minimum + step, label: "" }));
}

/** The keys that give answers under a protocol: digits always, letters where a question or a code has them. */
export function answerKeys({ questions = [], codes = [] }) {
  const letters = questions.flatMap(answerLetters);
  return new Set([..."0123456789", ...letters, ...codes.map(({ key }) => key.toLowerCase())]);
}

/** The answer keys as rows of the key dialog: {keys, until, text}; `text` is a key of the page's texts. */
export function answerRows({ questions = [], codes = [], candidate }) {
  const anyQuestion = (predicate) => questions.some(predicate);
  const hasKind = (kind) => anyQuestion((question) => question.kind === kind);
  const hasScale = anyQuestion((question) => question.confidence || (question.kind === "rating" && pointsOf(question).length));
  const hasTen = anyQuestion((question) => question.kind === "rating" && pointsOf(question).some(({ value }) => value === 10));
  return [
    hasKind("preference") && { keys: ["A", "B"], text: translate("Choose, in the marked question") },
    anyQuestion(({ tie }) => tie) && { keys: ["T"], text: translate("Tie") },
    anyQuestion(({ both_bad }) => both_bad) && { keys: ["N"], text: translate("Both bad") },
    hasKind("correctness") && { keys: ["Y", "N"], text: translate("Correct or not, in the marked question") },
    hasScale && { keys: ["1", "9"], until: true, text: translate("The point of the scale, in the marked question") },
    hasTen && { keys: ["T"], text: translate("Point 10 of the scale") },
    codes.length && { keys: codes.map(({ key }) => key), text: translate("Codes on or off") },
    candidate === "clip" && { keys: ["Alt 1", "Alt 9"], until: true, text: translate("Play the piece of that number, 0 the reference; without Alt where no scale is marked") },
  ].filter(Boolean);
}

function answerLetters(question) {
  if (question.kind === "preference") return ["a", "b", "t", "n"];
  if (question.kind === "correctness") return ["y", "n"];
  return pointsOf(question).some(({ value }) => value === 10) ? ["t"] : [];
}
