/**
 * The second stage of the review desk: everything that is known of the case on one side, the item's texts to correct on
 * the other. Keys do all of it. A case that somebody else has, or that is decided, is only there to be read.
 */
import { createApi } from "../delivery/api.js";
import { createSending, createToast } from "./case_requests.js";
import { clipsOf, createClipCache } from "../player/clip_cache.js";
import { createClipRow } from "../player/clip_row.js";
import { createDecisions } from "./decisions.js";
import { h } from "../page/dom.js";
import { createEngine } from "../player/engine.js";
import { startHeartbeat } from "../rating/heartbeat.js";
import { createKeyDialog } from "../keys/key_dialog.js";
import { createKeyMap } from "../keys/key_map.js";
import { createPlayer } from "../player/player.js";
import { createScreen } from "../rating/screen.js";
import { listen } from "../keys/shortcuts.js";
import { translator } from "../page/texts.js";
import { createTransport } from "../player/transport.js";

const STEP_S = 5;

export default async function desk(root) {
  const data = JSON.parse(document.getElementById("desk-data").textContent);
  const { account, caseId, texts, urls } = data;
  const t = translator(texts);
  const api = createApi(urls, { account });
  const screen = createScreen(root, t);
  const notice = (text, options) => (text ? screen.notice(text, options) : screen.clearNotice());
  const lock = (is) => (screen.part("editor") ?? root).toggleAttribute("inert", is);
  const sending = createSending({ urls, caseId, account, t, notice, lock });
  const decisions = data.decides ? createDecisions(root, { data, screen, sending, t }) : null;
  const toast = createToast(root, { undo: sending.undo, onUndone: () => decisions?.go() });
  const keys = createDeskKeys(globalThis.localStorage);
  let player = null;

  function actions() {
    return {
      ...decisions?.actions,
      ...(toast && { take_back: toast.press }),
      ...(player && {
        play: () => player.toggle(),
        switch: () => player.switchOver(),
        back5: () => player.seek(player.position() - STEP_S),
        on5: () => player.seek(player.position() + STEP_S),
        restart: () => player.restart(),
      }),
      help: () => keyDialog.show(),
    };
  }

  function onKey(name) {
    if (sending.busy) return false;
    if (/^[1-9]$/.test(name)) return decisions?.goToField(Number(name)) ?? false;
    const act = actions()[keys.actionOf(name)];
    act?.();
    return Boolean(act);
  }

  const keyDialog = createKeyDialog({
    keys,
    singles: listen(onKey, keys),
    task: () => null,
    offered: () => Object.keys(actions()),
    answers: () => (decisions?.nFields ? fieldRows(decisions.nFields) : []),
    t,
  });
  keyDialog.hint();
  document.addEventListener("htmx:after:swap", keyDialog.hint);

  if (data.plays) {
    const parts = { frame: screen.part("players"), place: screen.part("clips") };
    player = await createDeskPlayer({ briefing: () => api.blind(caseId), ...parts, t });
    keyDialog.hint();
  }
  if (!decisions) return;
  startHeartbeat({
    api: { heartbeat: api.keepCase },
    held: () => [caseId],
    onKept() {},
    onLost: () => sending.busy || screen.notice(t("conflict.claim_lost"), { look: "warning" }),
  });
}

/** The desk's keys: one table, changed and listed as the workbench's. Digits go to the fields. */
const ACTIONS = [
  { name: "accept", key: "a" },
  { name: "edit", key: "e" },
  { name: "reject", key: "x" },
  { name: "correct", key: "c" },
  { name: "save", key: "Ctrl+Enter" },
  { name: "fine", key: "f" },
  { name: "send_back", key: "r" },
  { name: "withdraw", key: "w" },
  { name: "put_back", key: "n" },
  { name: "take_back", key: "u" },
  { name: "play", key: "p" },
  { name: "switch", key: "s" },
  { name: "back5", key: "j", repeats: true },
  { name: "on5", key: "l", repeats: true },
  { name: "restart", key: "k" },
  { name: "leave_text", key: "Escape", fixed: true },
  { name: "help", key: "?" },
];

export const createDeskKeys = (storage) => createKeyMap(storage, { actions: ACTIONS, store: "concord:desk-keys" });

/** Rows for the list of keys, as in answer_keys.js. */
export const fieldRows = (nFields) => [{ keys: nFields > 1 ? ["1", String(nFields)] : ["1"], until: nFields > 1, text: "keys.field" }];

/** The case's clips beside its texts: the expert's own assignment plays them, in the order in which they were judged. */
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
  const clipCache = createClipCache({ api: { assignment: briefing } });
  const player = createPlayer({
    engine: createEngine(),
    loader: clipCache.takeLoader(assignment),
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
