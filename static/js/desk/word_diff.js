/**
 * Word diff of two texts, for people to read. Pure. The same tokens and pieces as on the pages that the server renders
 * (labeling_ui/review/word_diff.py): {kind: "same" | "gone" | "new", text}.
 */

// A line end, a run of other blanks, a character of a script written without blanks, a word, or one sign.
const TOKEN =
  /\n|[^\S\n]+|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|(?:(?![\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])[\p{L}\p{N}_])+|./gsu;
// Beyond this many comparisons the difference is shown as a whole: the diff runs at every key press.
const MAX_PAIRS = 4_000_000;
// Words first: spaces only decide between alignments that have as many words in common.
const WORD = 4096;
const BLANK = 1;

export const tokens = (text) => text.match(TOKEN) ?? [];

/** Removed text stands before its replacement; two pieces of one kind never follow one another. */
export function wordDiff(before, after) {
  const [oldTokens, newTokens] = [tokens(before), tokens(after)];
  let head = 0;
  while (head < Math.min(oldTokens.length, newTokens.length) && oldTokens[head] === newTokens[head]) head += 1;
  let tail = 0;
  const room = Math.min(oldTokens.length, newTokens.length) - head;
  while (tail < room && oldTokens.at(-1 - tail) === newTokens.at(-1 - tail)) tail += 1;
  const middle = changes(oldTokens.slice(head, oldTokens.length - tail), newTokens.slice(head, newTokens.length - tail));
  const steps = [
    ...oldTokens.slice(0, head).map((text) => ["same", text]),
    ...middle,
    ...oldTokens.slice(oldTokens.length - tail).map((text) => ["same", text]),
  ];
  return joined(withoutGaps(grouped(steps)));
}

/** Steps [kind, token] through the longest common subsequence of two lists of tokens. */
function changes(oldTokens, newTokens) {
  if (oldTokens.length * newTokens.length > MAX_PAIRS) {
    return [...oldTokens.map((text) => ["gone", text]), ...newTokens.map((text) => ["new", text])];
  }
  const width = newTokens.length + 1;
  const best = new Uint32Array((oldTokens.length + 1) * width);
  const weights = oldTokens.map((text) => (text.trim() ? WORD : BLANK));
  for (let i = oldTokens.length - 1; i >= 0; i -= 1) {
    for (let j = newTokens.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      const skipped = Math.max(best[at + width], best[at + 1]);
      best[at] = oldTokens[i] === newTokens[j] ? Math.max(skipped, best[at + width + 1] + weights[i]) : skipped;
    }
  }
  const steps = [];
  let [i, j] = [0, 0];
  while (i < oldTokens.length && j < newTokens.length) {
    const at = i * width + j;
    if (oldTokens[i] === newTokens[j] && best[at] === best[at + width + 1] + weights[i]) {
      steps.push(["same", oldTokens[i]]);
      i += 1;
      j += 1;
    } else if (best[at + width] >= best[at + 1]) steps.push(["gone", oldTokens[i++]]);
    else steps.push(["new", newTokens[j++]]);
  }
  for (; i < oldTokens.length; i += 1) steps.push(["gone", oldTokens[i]]);
  for (; j < newTokens.length; j += 1) steps.push(["new", newTokens[j]]);
  return steps;
}

/** Stretches {same} and {gone, new}, one after the other. */
function grouped(steps) {
  const merged = [];
  for (const [kind, text] of steps) {
    const last = merged.at(-1);
    if (kind === "same" && last?.same) last.same += text;
    else if (kind === "same") merged.push({ same: text, gone: "", new: "" });
    else if (last && !last.same) last[kind] += text;
    else merged.push({ same: "", gone: "", new: "", [kind]: text });
  }
  return merged;
}

/** Changes with only a blank between them become one: "red cat" to "blue dog" reads better than word for word. */
function withoutGaps(stretches) {
  const merged = [];
  for (const [at, stretch] of stretches.entries()) {
    const { same } = stretch;
    const isGap = same && !same.trim() && !same.includes("\n") && at > 0 && at < stretches.length - 1;
    const next = isGap ? { same: "", gone: same, new: same } : { ...stretch };
    const last = merged.at(-1);
    if (!next.same && last && !last.same) {
      last.gone += next.gone;
      last.new += next.new;
    } else merged.push(next);
  }
  return merged;
}

function joined(stretches) {
  return stretches.flatMap((stretch) =>
    ["same", "gone", "new"].filter((kind) => stretch[kind]).map((kind) => ({ kind, text: stretch[kind] })),
  );
}
