/**
 * The second stage of the review desk: everything that is known of the case on one side, the item's texts to correct on
 * the other. Keys do all of it; a decision goes straight on to the next case.
 */
import { createApi } from "./api.js";
import { createReturn, createWithdrawal } from "./desk_dialogs.js";
import { createEditor } from "./desk_editor.js";
import { createDeskKeys, fieldRows } from "./desk_keys.js";
import { createMemory } from "./desk_memory.js";
import { createDeskPlayer } from "./desk_player.js";
import { createSending } from "./desk_send.js";
import { createToast } from "./desk_toast.js";
import { startHeartbeat } from "./heartbeat.js";
import { createKeyDialog } from "./key_dialog.js";
import { createScreen } from "./screen.js";
import { listen } from "./shortcuts.js";
import { translator } from "./texts.js";

const STEP_S = 5;

export default async function desk(root) {
  const data = JSON.parse(document.getElementById("desk-data").textContent);
  const { account, caseId, texts, urls } = data;
  const t = translator(texts);
  const api = createApi(urls, { account });
  const screen = createScreen(root, t);
  let leaving = false;
  let player = null;
  const notice = (text, options) => (text ? screen.notice(text, options) : screen.clearNotice());
  const lock = (is) => (screen.part("editor") ?? root).toggleAttribute("inert", is);
  const sending = createSending({ urls, caseId, account, t, notice, lock });
  const toast = createToast(root, { undo: sending.undo, onUndone: () => (leaving = true) });
  if (data.plays) {
    const parts = { frame: screen.part("players"), place: screen.part("clips") };
    createDeskPlayer({ briefing: () => api.blind(caseId), ...parts, t }).then((made) => (player = made));
  }

  if (!data.decides) return;

  const memory = createMemory(globalThis.sessionStorage, `concord:desk:${account}:${data.item}`);
  const editor = createEditor(root, { memory, t, say: screen.announce, onChange: screen.clearNotice });
  const keys = createDeskKeys(globalThis.localStorage);
  const askToWithdraw = createWithdrawal({ t, send: ({ comment }) => settle(sending.withdraw(comment)) });
  const askToReturn = createReturn({ t, send: (values) => settle(sending.sendBack(values)) });

  /** Once the server has done it: on to the next case, which says what became of this one. */
  async function settle(sent) {
    if (!(await sent)) return;
    editor.forget();
    leave({ decided: caseId });
  }

  function leave({ decided = "" } = {}) {
    leaving = true;
    const form = document.getElementById("leave-form");
    form.elements.decided.value = decided;
    form.submit();
  }

  function correct() {
    const typed = editor.content();
    if (!editor.dirty) return screen.notice(t("desk.nothing_changed"), { look: "warning" });
    if (!typed.reason) {
      screen.notice(t("desk.no_reason"), { look: "error" });
      return editor.focusReason();
    }
    settle(sending.correct(typed, data.version));
  }

  /** What is typed is thrown away only by somebody who says so. */
  function unlessDirty(act) {
    if (!editor.dirty) return act();
    const discard = { text: t("desk.discard_them"), onclick: act };
    screen.notice(t("desk.discard"), { look: "warning", actions: [discard] }).querySelector("button").focus();
  }

  const comment = () => editor.content().comment;
  const decisions = {
    correct,
    fine: () => unlessDirty(() => settle(sending.fine(comment()))),
    send_back: () => askToReturn(comment()),
    withdraw: () => askToWithdraw(comment()),
    put_back: () => unlessDirty(() => (editor.forget(), leave())),
  };

  function actions() {
    return {
      accept: editor.accept,
      edit: editor.edit,
      reject: editor.reject,
      ...decisions,
      save: correct,
      ...(toast && { take_back: toast.press }),
      ...(player && {
        play: () => player.toggle(),
        switch: () => player.switchOver(),
        back5: () => player.seek(player.position() - STEP_S),
        on5: () => player.seek(player.position() + STEP_S),
        restart: () => player.restart(),
      }),
      leave_text: () => document.activeElement.closest("[data-field]")?.focus() ?? document.activeElement.blur(),
      help: () => keyDialog.show(),
    };
  }

  function onKey(name) {
    if (sending.busy) return false;
    if (/^[1-9]$/.test(name)) return editor.go(Number(name));
    const act = actions()[keys.actionOf(name)];
    act?.();
    return Boolean(act);
  }

  const keyDialog = createKeyDialog({
    keys,
    singles: listen(onKey, keys),
    task: () => null,
    offered: () => Object.keys(actions()),
    answers: () => (editor.nFields ? fieldRows(editor.nFields) : []),
    t,
  });
  keyDialog.hint();
  document.addEventListener("htmx:after:swap", keyDialog.hint);
  for (const button of root.querySelectorAll("[data-do]")) button.addEventListener("click", decisions[button.dataset.do]);
  screen.part("editor").addEventListener("submit", (event) => event.preventDefault());
  globalThis.addEventListener("beforeunload", (event) => {
    if (!leaving && (editor.dirty || sending.busy)) event.preventDefault();
  });
  startHeartbeat({
    api: { heartbeat: api.keepCase },
    held: () => [caseId],
    onKept() {},
    onLost: () => sending.busy || leaving || screen.notice(t("conflict.claim_lost"), { look: "warning" }),
  });
}
