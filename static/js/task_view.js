/** One task on the page, made from its briefing and its protocol's definition; no preset is known here by name. */
import { createAsked } from "./asked.js";
import { candidateClips, candidateText, contentSection } from "./given.js";
import { holdUntilRead } from "./instruction_first.js";
import { createListenGate } from "./listen_gate.js";
import { createPlayer } from "./player.js";
import { clipsOf } from "./task_clips.js";

const KEEP_MS = 1000;

/**
 * Renders into `given` (left) and `place` (right). `sound` holds the page's engine and the shelf of loaders, `listen` the
 * page's part in listening. To change an answer (`changing`) nothing has to be heard again. Of the view, `log()` travels
 * with the vote, `refusal()` says why none can be sent yet, and `opening` what the rater waits for at first.
 */
export function createTaskView(options) {
  const { assignment, definition, draft, changing = false, language, t } = options;
  const { given, place, sound, listen, onChange, onHeard } = options;
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
  let keeping = null;
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
  const page = { player, given, t, announce: listen.announce };
  const gate = changing ? null : createListenGate({ ...page, assignment, language, line: listen.line });
  const hold = holdUntilRead({ ...page, seconds: changing ? 0 : assignment.listening.instruction_seconds });
  const log = () => player.log({ session_s: listen.sessionSeconds() });
  player.addEventListener("heard", keepLog);
  listen.line.hidden = changing || listen.line.hidden;

  /** What was heard is kept with the draft: a reload does not ask for it again. */
  function keepLog() {
    if (keeping !== null) return;
    keeping = setTimeout(() => {
      keeping = null;
      draft.log = log();
      onHeard();
    }, KEEP_MS);
  }

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
    log,
    refusal: () => gate?.refusal() ?? null,
    opening: hold.sentence,
    focus: () => instruction.querySelector("h2").focus({ preventScroll: true }),
    dispose() {
      clearTimeout(keeping);
      hold.dispose();
      player.dispose();
    },
  };
}
