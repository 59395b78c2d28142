/** What an expert can do about a case: correct it, say it is fine, return or withdraw it, put it back. */
import { createReturn, createWithdrawal } from "./dialogs.js";
import { createEditor } from "./editor.js";
import { createMemory } from "./memory.js";
import { createWays } from "./exits.js";

export function createDecisions(root, { data, screen, sending, t }) {
  const memory = createMemory(globalThis.sessionStorage, `concord:desk:${data.account}:${data.item}`);
  const editor = createEditor(root, { memory, t, say: screen.announce, onChange: screen.clearNotice });
  const dialogs = {
    withdrawal: (send) => createWithdrawal({ t, send }),
    sendingBack: (send) => createReturn({ t, send }),
  };
  const ways = createWays({ editor, sending, dialogs, discard, leave });
  let leaving = false;

  function leave({ decided }) {
    leaving = true;
    const form = document.getElementById("leave-form");
    form.elements.decided.value = decided ? data.caseId : "";
    form.submit();
  }

  function correct() {
    const typed = editor.content();
    if (!editor.dirty) return screen.notice(t("desk.nothing_changed"), { look: "warning" });
    if (!typed.reason) {
      screen.notice(t("desk.no_reason"), { look: "error" });
      return editor.focusReason();
    }
    ways.correct(typed, data.version);
  }

  /** What is typed is thrown away only by somebody who says so. */
  function discard(act) {
    const actions = [{ text: t("desk.discard_them"), onclick: act }];
    screen.notice(t("desk.discard"), { look: "warning", actions }).querySelector("button").focus();
  }

  /** Out of the text, so that keys work again; its field stays at hand. */
  function leaveText() {
    const field = document.activeElement.closest("[data-field]");
    if (field) field.focus();
    else document.activeElement.blur();
  }

  const decisions = { ...ways, correct };

  for (const button of root.querySelectorAll("[data-do]")) button.addEventListener("click", decisions[button.dataset.do]);
  screen.part("editor").addEventListener("submit", (event) => event.preventDefault());
  globalThis.addEventListener("beforeunload", (event) => {
    if (!leaving && (editor.dirty || sending.busy)) event.preventDefault();
  });

  return {
    actions: {
      accept: editor.accept,
      edit: editor.edit,
      reject: editor.reject,
      ...decisions,
      save: correct,
      leave_text: leaveText,
    },
    goToField: editor.go,
    nFields: editor.nFields,
    /** The page is left on purpose: nothing stands in the way any more. */
    go: () => (leaving = true),
  };
}
