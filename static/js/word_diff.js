/**
 * What changed between two texts, word by word, for people to read. Pure. The same words and pieces as on the pages that
 * the server makes (labeling_ui/review/word_diff.py): {kind: "same" | "gone" | "new", text}.
 */

// A line end, a run of other blanks, a character of a script written without blanks, a word, or one sign.
const TOKEN =
  /\n|[^\S\n]+|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|(?:(?![\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])[\p{L}\p{N}_])+|./gsu;
// Beyond this many comparisons what differs is shown as a whole: it is done again at every key pressed.
const MOST_PAIRS = 4_000_000;
// Words first: blanks only decide between alignments that have as many words in common.
const WORD = 4096;
const BLANK = 1;

export const tokens = (text) => text.match(TOKEN) ?? [];

/** What is gone stands before what took its place; two equal pieces never follow one another. */
export function wordDiff(before, after) {
  const [old, young] = [tokens(before), tokens(after)];
  let head = 0;
  while (head < Math.min(old.length, young.length) && old[head] === young[head]) head += 1;
  let tail = 0;
  const room = Math.min(old.length, young.length) - head;
  while (tail < room && old.at(-1 - tail) === young.at(-1 - tail)) tail += 1;
  const middle = changes(old.slice(head, old.length - tail), young.slice(head, young.length - tail));
  const steps = [
    ...old.slice(0, head).map((text) => ["same", text]),
    ...middle,
    ...old.slice(old.length - tail).map((text) => ["same", text]),
  ];
  return joined(withoutGaps(grouped(steps)));
}

/** Steps [kind, token] through the longest common subsequence of two lists of tokens. */
function changes(old, young) {
  if (old.length * young.length > MOST_PAIRS) {
    return [...old.map((text) => ["gone", text]), ...young.map((text) => ["new", text])];
  }
  const width = young.length + 1;
  const best = new Uint32Array((old.length + 1) * width);
  const weights = old.map((text) => (text.trim() ? WORD : BLANK));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = young.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      const skipped = Math.max(best[at + width], best[at + 1]);
      best[at] = old[i] === young[j] ? Math.max(skipped, best[at + width + 1] + weights[i]) : skipped;
    }
  }
  const steps = [];
  let [i, j] = [0, 0];
  while (i < old.length && j < young.length) {
    const at = i * width + j;
    if (old[i] === young[j] && best[at] === best[at + width + 1] + weights[i]) {
      steps.push(["same", old[i]]);
      i += 1;
      j += 1;
    } else if (best[at + width] >= best[at + 1]) steps.push(["gone", old[i++]]);
    else steps.push(["new", young[j++]]);
  }
  for (; i < old.length; i += 1) steps.push(["gone", old[i]]);
  for (; j < young.length; j += 1) steps.push(["new", young[j]]);
  return steps;
}

/** Stretches {same} and {gone, new}, one after the other. */
function grouped(steps) {
  const found = [];
  for (const [kind, text] of steps) {
    const last = found.at(-1);
    if (kind === "same" && last?.same) last.same += text;
    else if (kind === "same") found.push({ same: text, gone: "", new: "" });
    else if (last && !last.same) last[kind] += text;
    else found.push({ same: "", gone: "", new: "", [kind]: text });
  }
  return found;
}

/** Changes with only a blank between them become one: "red cat" to "blue dog" reads better than word for word. */
function withoutGaps(stretches) {
  const found = [];
  for (const [at, stretch] of stretches.entries()) {
    const { same } = stretch;
    const isGap = same && !same.trim() && !same.includes("\n") && at > 0 && at < stretches.length - 1;
    const next = isGap ? { same: "", gone: same, new: same } : { ...stretch };
    const last = found.at(-1);
    if (!next.same && last && !last.same) {
      last.gone += next.gone;
      last.new += next.new;
    } else found.push(next);
  }
  return found;
}

function joined(stretches) {
  return stretches.flatMap((stretch) =>
    ["same", "gone", "new"].filter((kind) => stretch[kind]).map((kind) => ({ kind, text: stretch[kind] })),
  );
}
