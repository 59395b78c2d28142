/** One task on the page, made from its briefing and its protocol's definition; no preset is known here by name. */
import { createAsked } from "./asked.js";
import { candidateClips, candidateText, contentSection } from "./given.js";
import { createPlayer } from "./player.js";
import { clipsOf } from "./task_clips.js";

/** Renders into `given` (left) and `place` (right). `sound` holds the page's engine and the shelf of loaders. */
export function createTaskView({ assignment, definition, draft, language, t, given, place, sound, onChange }) {
  const { content, candidates } = assignment;
  const clips = candidates.filter(({ clip }) => clip);
  const player = createPlayer({
    engine: sound.engine,
    loader: sound.shelf.take(assignment),
    clips: clipsOf(assignment),
    fadeMs: assignment.listening?.fade_ms,
    onIdle: sound.shelf.fill,
    before: draft.log,
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
  const instruction = contentSection({ content, title: t(clips.length ? "part.instruction" : "part.about"), player, t });

  given.replaceChildren(instruction, ...(clips.length ? [candidateSection()] : []));
  place.replaceChildren(...askedSections());
  for (const type of ["time", "change"]) player.addEventListener(type, asked.showTime);
  asked.showTime();

  function candidateSection() {
    const title = t(definition.layout === "comparison" ? "part.pair" : "part.candidates");
    return candidateClips({ candidates: clips, title, player, t });
  }

  /** Each candidate's text stands above its own questions; questions to the whole task come first or alone. */
  function askedSections() {
    const own = (position) => asked.views.filter((view) => view.ask.position === position).map((view) => view.element);
    const texts = candidates.flatMap((candidate, index) => [...text(candidate), ...own(index)]);
    return [...texts, ...own(null), ...(asked.report ? [asked.report.element] : [])];
  }

  function text(candidate) {
    if (!candidate.text) return [];
    const title = candidates.length === 1 ? t("part.answer") : t("part.candidate", { label: candidate.label });
    return [candidateText({ text: candidate.text, title })];
  }

  return {
    asked,
    player,
    focus: () => instruction.querySelector("h2").focus({ preventScroll: true }),
    dispose() {
      player.dispose();
    },
  };
}
