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
