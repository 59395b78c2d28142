/** Several candidates under one heading, a row each: what there is to judge, and beside it what is asked of it. */
import { createClipRow } from "../player/clip_row.js";
import { h, uniqueId } from "../page/dom.js";
import { inLanguage } from "../page/texts.js";
import { createTransport } from "../player/transport.js";

/** `views` are the ask views of questions that are put for each candidate. One question needs no title in every row. */
export function createMatrix({ candidates, views, title, player, language, t }) {
  const questions = [...new Set(views.map(({ ask }) => ask.question))];
  const clips = candidates.filter(({ clip }) => clip);
  const titleId = uniqueId("matrix");
  const rows = candidates.map((candidate, position) =>
    h(
      "div",
      { class: "matrix-row", role: "group", "aria-label": t("part.candidate", { label: candidate.label }) },
      thing(candidate),
      h("div", { class: "matrix-asks" }, views.filter(({ ask }) => ask.position === position).map(({ element }) => element)),
    ),
  );

  function thing({ label, clip, text }) {
    const words = text ? h("p", { class: "matrix-text", dir: "auto" }, text) : null;
    if (clip) return h("div", {}, createClipRow({ clip, mark: label, label, player, t }), words);
    return h("div", { class: "matrix-words" }, h("span", { class: "clip-mark", "aria-hidden": "true" }, label), words);
  }

  const [first] = questions;
  const heading = questions.length === 1 ? [h("h3", {}, inLanguage(first.title, language)), help(first)] : [];
  function help(question) {
    const text = inLanguage(question.help, language);
    return text ? h("p", { class: "help" }, text) : null;
  }

  return h(
    "section",
    {
      class: `card matrix ${clips.length ? "players" : "texts"} ${questions.length === 1 ? "one-question" : ""}`,
      "aria-labelledby": titleId,
    },
    h("h2", { id: titleId, tabindex: "-1" }, title),
    heading,
    clips.length ? bar({ player, switches: clips.length > 1, t }) : null,
    rows,
  );
}

/** What all rows share, in view beside each of them; the open reference among it. */
function bar({ player, switches, t }) {
  const transport = createTransport({ player, switches, t });
  if (!player.has("reference")) return h("div", { class: "matrix-bar" }, transport);
  const button = h("button", { type: "button", class: "button reference", onclick: toggle }, t("content.reference_clip"));
  button.append(" ", h("kbd", { "data-key-of": "reference" }));

  function toggle() {
    if (player.current === "reference" && player.playing) player.pause();
    else player.play("reference");
  }

  player.addEventListener("change", () => {
    button.setAttribute("aria-pressed", String(player.current === "reference" && player.playing));
  });
  return h("div", { class: "matrix-bar" }, button, transport);
}
