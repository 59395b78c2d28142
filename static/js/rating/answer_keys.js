/** The keys that are answers: what they are in a protocol, for whoever presses them and for the list of keys. Pure. */
import { pointsOf } from "./protocol.js";

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
