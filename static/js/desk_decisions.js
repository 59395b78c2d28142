/** What an expert can do about a case: correct it, say it is fine, return or withdraw it, put it back. */
import { createReturn, createWithdrawal } from "./desk_dialogs.js";
import { createEditor } from "./desk_editor.js";
import { createMemory } from "./desk_memory.js";

export function createDecisions(root, { data, screen, sending, t }) {
  const memory = createMemory(globalThis.sessionStorage, `concord:desk:${data.account}:${data.item}`);
  const editor = createEditor(root, { memory, t, say: screen.announce, onChange: screen.clearNotice });
  const askToWithdraw = createWithdrawal({ t, send: ({ comment }) => settle(sending.withdraw(comment)) });
  const askToReturn = createReturn({ t, send: (values) => settle(sending.sendBack(values)) });
  let leaving = false;

  /** Once the server has done it: on to the next case, which says what became of this one. */
  async function settle(sent) {
    if (!(await sent)) return;
    editor.forget();
    leave({ decided: data.caseId });
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

  function putBack() {
    editor.forget();
    leave();
  }

  /** Out of the text, so that keys work again; its field stays at hand. */
  function leaveText() {
    const field = document.activeElement.closest("[data-field]");
    if (field) field.focus();
    else document.activeElement.blur();
  }

  const comment = () => editor.content().comment;
  const decisions = {
    correct,
    fine: () => unlessDirty(() => settle(sending.fine(comment()))),
    send_back: () => askToReturn(comment()),
    withdraw: () => askToWithdraw(comment()),
    put_back: () => unlessDirty(putBack),
  };

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
