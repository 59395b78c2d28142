/** What a task gives: the instruction or the question first, then what there is to judge. */
import { createClipRow } from "../player/clip_row.js";
import { h } from "../page/dom.js";
import { createTransport } from "../player/transport.js";

const LONG_TEXT = 360; // characters; longer lyrics and transcripts are folded
const FOLDABLE = ["lyrics", "transcript"];

/** The item's fields in protocol order. `headline` is the first text: the prompt, or the question. */
export function contentSection({ content, title, player, controls, t }) {
  const parts = content.map(({ field, text, clip }, index) => {
    const heading = t(`content.${field}`);
    if (clip) return h("div", { class: "given-clip" }, h("h3", {}, heading), createClipRow({ clip, label: heading, player, t }));
    if (FOLDABLE.includes(field) && text.length > LONG_TEXT) return folded(heading, text, t);
    return h(
      "div",
      { class: `given-text given-${field}` },
      h("h3", {}, heading),
      h("p", { class: index === 0 ? "headline" : "passage", dir: "auto" }, text),
    );
  });
  return h("section", { class: "card given", "aria-label": title }, h("h2", { tabindex: "-1" }, title), parts, controls);
}

/** Clips to compare: one row each, and the controls that they share. */
export function candidateClips({ candidates, title, player, t }) {
  const rows = candidates.map(({ label, clip }) =>
    createClipRow({ clip, mark: candidates.length > 1 ? label : null, label, player, t }),
  );
  const transport = createTransport({ player, switches: candidates.length > 1, t });
  return h("section", { class: "card players", "aria-label": title }, h("h2", { tabindex: "-1" }, title), rows, transport);
}

/** An answer, or several, in words. Kept clearly apart from the reference: it is what the rater judges. */
export function candidateText({ text, title }) {
  return h(
    "section",
    { class: "card candidate-text", "aria-label": title },
    h("h2", {}, title),
    h("p", { class: "headline", dir: "auto" }, text),
  );
}

function folded(heading, text, t) {
  return h(
    "details",
    { class: "given-text" },
    h("summary", {}, h("h3", {}, heading), h("span", { class: "soft small" }, t("part.show_all"))),
    h("p", { class: "passage", dir: "auto" }, text),
  );
}
