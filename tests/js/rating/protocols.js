/** Definitions for tests: the shapes of the presets, shortened. */
const confidence = { title: { en: "How sure?" }, points: [1, 2, 3, 4, 5].map((value) => ({ value, label: `${value}` })) };

export const comparison = {
  layout: "comparison",
  questions: [
    { key: "alignment", kind: "preference", title: "Which follows?", confidence },
    { key: "musicality", kind: "preference", title: "Which is better?", confidence },
    { key: "evidence", kind: "text", title: "What did you hear?", required: true, max_length: 600 },
  ],
};

export const rating = {
  layout: "rating",
  questions: [
    {
      key: "correctness",
      kind: "rating",
      title: { en: "How correct?", "zh-hans": "有多正确？" },
      excused_by: ["U", "E"],
      points: [1, 2, 3, 4, 5].map((value) => ({ value, label: `${value}` })),
    },
  ],
  codes: [{ key: "A" }, { key: "U" }, { key: "E" }],
  comment: true,
};

export const panel = {
  layout: "panel",
  questions: [
    { key: "correct", kind: "correctness", title: "Correct?", per_candidate: true, points: [{ value: 0 }, { value: 1 }] },
    { key: "quality", kind: "rating", title: "Quality", minimum: 0, maximum: 100, required: false },
  ],
};
