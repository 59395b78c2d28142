/**
 * The second stage of the review desk: everything that is known of the case on one side, the item's texts to correct on
 * the other. Keys do all of it. A case that somebody else has, or that is decided, is only there to be read.
 */
import { createApi } from "../delivery/api.js";
import { createDecisions } from "./decisions.js";
import { createDeskKeys, fieldRows } from "./desk_keys.js";
import { createDeskPlayer } from "./desk_player.js";
import { createSending } from "./case_requests.js";
import { createToast } from "./undo.js";
import { startHeartbeat } from "../rating/heartbeat.js";
import { createKeyDialog } from "../keys/key_dialog.js";
import { createScreen } from "../rating/screen.js";
import { listen } from "../keys/shortcuts.js";
import { translator } from "../page/texts.js";

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
