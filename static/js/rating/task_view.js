/** One task on the page, made from its briefing and its protocol's definition; no preset is known here by name. */
import { createAsked } from "./answer_form.js";
import { candidateClips, candidateText, contentSection, createMatrix } from "./task_content.js";
import { hintSection } from "./prediction_hint.js";
import { createPlayer } from "../player/player.js";
import { clipsOf } from "../player/clip_cache.js";
import { createTransport } from "../player/transport.js";

/** Renders into `given` (left) and `place` (right). `sound` holds the page's audio engine and clip cache. */
export function createTaskView({ assignment, definition, draft, language, t, given, place, sound, onChange }) {
  const { content, candidates } = assignment;
  const clips = candidates.filter(({ clip }) => clip);
  const player = createPlayer({
    engine: sound.engine,
    loader: sound.clipCache.takeLoader(assignment),
    clips: clipsOf(assignment),
    fadeMs: assignment.listening?.fade_ms,
    onIdle: sound.clipCache.resumePrefetch,
    previousLog: draft.log,
  });
  const names = clips.map(({ clip }) => clip.name);
  // A time in a text is a time in what is judged, also while the reference plays.
  const placeInCandidate = () => player.position(names.includes(player.current) ? player.current : names[0]);
  const asked = createAsked({
    definition,
    nCandidates: candidates.length,
    draft,
    language,
    t,
    position: names.length ? placeInCandidate : null,
    onChange,
  });
  // A recording beside text answers has the controls to itself.
  const controls = !clips.length && player.current ? createTransport({ player, switches: false, t }) : null;
  const instruction = content.length ? [contentSection({ content, title: contentTitle(), player, controls, t })] : [];
  const each = asked.views.filter(({ ask }) => ask.position !== null);
  const isMatrix = definition.layout === "panel" && each.length > 0;

  given.replaceChildren(...instruction, ...(clips.length && !isMatrix ? [candidateSection()] : []));
  // Before the answers: what an expert who asks for more judgments of this task wants looked at.
  const note = assignment.note ? [candidateText({ text: assignment.note, title: t("part.note") })] : [];
  const hint = assignment.hint ? [hintSection({ hint: assignment.hint, definition, language, t })] : [];
  place.replaceChildren(...note, ...hint, ...askedSections());
  for (const type of ["time", "change"]) player.addEventListener(type, asked.showTime);
  asked.showTime();

  function contentTitle() {
    if (!clips.length) return t("part.about");
    return t(content.some(({ text }) => text) ? "part.instruction" : "part.reference");
  }

  function candidateTitle() {
    return t({ comparison: "part.pair", abx: "part.abx" }[definition.layout] ?? (candidates.length > 1 ? "part.candidates" : "part.clip"));
  }

  function candidateSection() {
    return candidateClips({ candidates: clips, title: candidateTitle(), player, t });
  }

  /** Each candidate stands beside or above its own questions; questions to the whole task come after. */
  function askedSections() {
    const report = asked.report ? [asked.report.element] : [];
    if (isMatrix) {
      const matrix = createMatrix({ candidates, views: each, title: candidateTitle(), player, language, t });
      const whole = asked.views.filter((view) => !each.includes(view)).map((view) => view.element);
      return [matrix, ...whole, ...report];
    }
    const own = (position) => asked.views.filter((view) => view.ask.position === position).map((view) => view.element);
    const texts = candidates.flatMap((candidate, index) => [...text(candidate), ...own(index)]);
    return [...texts, ...own(null), ...report];
  }

  function text(candidate) {
    if (!candidate.text) return [];
    const title = candidates.length === 1 ? t("part.answer") : t("part.candidate", { label: candidate.label });
    return [candidateText({ text: candidate.text, title })];
  }

  return {
    asked,
    player,
    /**
     * A key for the question at hand. A digit that no scale takes, or one with Alt, plays the clip of that number, 0 the
     * reference.
     */
    press(key) {
      if (asked.press(key)) return true;
      const digit = /^(?:Alt\+)?([0-9])$/.exec(key)?.[1];
      const name = digit === "0" ? "reference" : candidates[Number(digit) - 1]?.clip?.name;
      if (!name || !player.has(name)) return false;
      player.play(name);
      return true;
    },
    focus: () => (given.querySelector("h2") ?? place.querySelector("h2")).focus({ preventScroll: true }),
    dispose() {
      player.dispose();
    },
  };
}
