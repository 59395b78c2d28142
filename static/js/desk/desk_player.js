/** The case's clips beside its texts: the expert's own assignment plays them, in the order in which they were judged. */
import { createClipRow } from "../player/clip_row.js";
import { h } from "../page/dom.js";
import { createEngine } from "../player/engine.js";
import { createPlayer } from "../player/player.js";
import { createShelf } from "../player/clip_cache.js";
import { clipsOf } from "../player/task_clips.js";
import { createTransport } from "../player/transport.js";

/** `briefing()` gives an outcome with the task. Resolves with the player; null where there is nothing to hear. */
export async function createDeskPlayer({ briefing, frame, place, t }) {
  const outcome = await briefing();
  if (outcome.kind !== "ok") {
    frame.hidden = false;
    place.append(h("p", { class: "problem" }, t("desk.clip_failed", { detail: outcome.detail })));
    return null;
  }
  const assignment = outcome.body;
  const clips = clipsOf(assignment);
  if (!clips.length) return null;
  const shelf = createShelf({ api: { assignment: briefing } });
  const player = createPlayer({
    engine: createEngine(),
    loader: shelf.take(assignment),
    clips,
    fadeMs: assignment.listening.fade_ms,
  });
  const given = assignment.content.filter(({ clip }) => clip);
  const judged = assignment.candidates.filter(({ clip }) => clip);
  const row = (clip, label, mark = null) => createClipRow({ clip, mark, label, player, t });
  place.replaceChildren(
    ...given.map(({ field, clip }) => {
      const title = t(`content.${field}`);
      return h("div", { class: "given-clip" }, h("h3", {}, title), row(clip, title));
    }),
    ...judged.map(({ label, clip }) =>
      judged.length > 1 ? row(clip, label, label) : h("div", { class: "given-clip" }, row(clip, label)),
    ),
    createTransport({ player, switches: judged.length > 1, t }),
  );
  frame.hidden = false;
  return player;
}
