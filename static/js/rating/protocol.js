/** A protocol's definition, read for asking. An `ask` is one question put once: to the task, or to one candidate. */

export const CANDIDATE_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The asks of a task, in order; `id` names an ask in drafts, errors and element ids. */
export function asksOf(definition, nCandidates) {
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

/** What a preference may say, in the order shown. */
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

/** The keys that are answers: what they are in a protocol, for whoever presses them and for the list of keys. Pure. */
/** Digits always, letters where a question or a code has them. */
export function answerKeys({ questions = [], codes = [] }) {
  const letters = questions.flatMap(lettersOf);
  return new Set([..."0123456789", ...letters, ...codes.map(({ key }) => key.toLowerCase())]);
}

/** Rows for the list: {keys, text, values}; `text` is a key of the page's texts. */
export function answerRows({ questions = [], codes = [], candidate }) {
  const some = (test) => questions.some(test);
  const has = (kind) => some((question) => question.kind === kind);
  const scales = some((question) => question.confidence || (question.kind === "rating" && pointsOf(question).length));
  const ten = some((question) => question.kind === "rating" && pointsOf(question).some(({ value }) => value === 10));
  return [
    has("preference") && { keys: ["A", "B"], text: "keys.choose" },
    some(({ tie }) => tie) && { keys: ["T"], text: "answer.tie" },
    some(({ both_bad }) => both_bad) && { keys: ["N"], text: "answer.both_bad" },
    has("correctness") && { keys: ["Y", "N"], text: "keys.verdict" },
    scales && { keys: ["1", "9"], until: true, text: "keys.point" },
    ten && { keys: ["T"], text: "keys.ten" },
    codes.length && { keys: codes.map(({ key }) => key), text: "keys.codes" },
    candidate === "clip" && { keys: ["Alt 1", "Alt 9"], until: true, text: "keys.candidate" },
  ].filter(Boolean);
}

function lettersOf(question) {
  if (question.kind === "preference") return ["a", "b", "t", "n"];
  if (question.kind === "correctness") return ["y", "n"];
  return pointsOf(question).some(({ value }) => value === 10) ? ["t"] : [];
}
