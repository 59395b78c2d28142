/** Decisions of an expert about a case: correct the item, mark it fine, return it to raters, withdraw it, put it back. */
import { translate } from "../page/texts.js";
import { createEditor, createStoredCorrections } from "./editor.js";

export function createDecisions(root, { data, screen, caseRequests }) {
  const stored = createStoredCorrections(globalThis.sessionStorage, `concord:desk:${data.account}:${data.item}`);
  const editor = createEditor(root, { stored, announce: screen.announce, onChange: screen.clearNotice });
  const dialogs = {
    withdrawal: (send) => createWithdrawal({ send }),
    returnToRaters: (send) => createReturn({ send }),
  };
  const exits = createExits({ editor, caseRequests, dialogs, discard, leave });
  let isLeaving = false;

  function leave({ decided }) {
    isLeaving = true;
    const form = document.getElementById("leave-form");
    form.elements.decided.value = decided ? data.caseId : "";
    form.submit();
  }

  function correct() {
    const corrections = editor.corrections();
    if (!editor.isDirty) return screen.notice(translate("Nothing is changed yet. If it is right as it stands, choose “Fine as it is”."), { look: "warning" });
    if (!corrections.reason) {
      screen.notice(translate("Say why it is corrected."), { look: "error" });
      return editor.focusReason();
    }
    exits.correct(corrections, data.version);
  }

  /** Typed corrections are discarded only on confirmation. */
  function discard(action) {
    const actions = [{ text: translate("Discard them"), onclick: action }];
    screen.notice(translate("You have unsaved corrections. Discard them?"), { look: "warning", actions }).querySelector("button").focus();
  }

  /** Move the focus from the text to its field, so that shortcuts work again. */
  function leaveText() {
    const field = document.activeElement.closest("[data-field]");
    if (field) field.focus();
    else document.activeElement.blur();
  }

  const decisions = { ...exits, correct };

  for (const button of root.querySelectorAll("[data-do]")) button.addEventListener("click", decisions[button.dataset.do]);
  screen.part("editor").addEventListener("submit", (event) => event.preventDefault());
  globalThis.addEventListener("beforeunload", (event) => {
    if (!isLeaving && (editor.isDirty || caseRequests.isBusy)) event.preventDefault();
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
    goToField: editor.goToField,
    nFields: editor.nFields,
    /** The page is left on purpose: no warning about unsaved corrections. */
    allowLeaving: () => (isLeaving = true),
  };
}

/**
 * The exits from a case, and what becomes of typed corrections on each: they are never lost without confirmation, and an
 * expert who gets the case back from its raters finds them again. Pure. `dialogs.withdrawal(send)` and
 * `dialogs.returnToRaters(send)` each return a function that opens the dialog; `discard(action)` asks for confirmation
 * first; `leave({decided})` goes on to the next case.
 */
export function createExits({ editor, caseRequests, dialogs, discard, leave }) {
  /** Leave the case once the server has stored the decision. */
  async function settle(request, { keepsCorrections = false } = {}) {
    if (!(await request)) return;
    if (!keepsCorrections || !editor.isDirty) editor.removeStored();
    leave({ decided: true });
  }

  function putBack() {
    editor.removeStored();
    leave({ decided: false });
  }

  const openWithdrawal = dialogs.withdrawal(({ comment }) => settle(caseRequests.withdraw(comment)));
  const openReturn = dialogs.returnToRaters((values) => settle(caseRequests.sendBack(values), { keepsCorrections: true }));
  const unlessDirty = (action) => (editor.isDirty ? discard(action) : action());
  const comment = () => editor.corrections().comment;

  return {
    correct: (corrections, version) => settle(caseRequests.correct(corrections, version)),
    fine: () => unlessDirty(() => settle(caseRequests.fine(comment()))),
    send_back: () => openReturn(comment()),
    withdraw: () => unlessDirty(() => openWithdrawal(comment())),
    put_back: () => unlessDirty(putBack),
  };
}

/**
 * A dialog of the desk, for a withdrawal or a return: it requires a comment, and sends by Ctrl+Enter. `read(data)` gives
 * {values}, or {problem}, the error's text; `send(values)` follows.
 */
function createDialog(name, { read, send }) {
  const dialog = document.getElementById(`${name}-dialog`);
  const form = dialog.querySelector("form");
  const comment = document.getElementById(`${name}-comment`);
  const problem = document.getElementById(`${name}-problem`);

  function showProblem(text) {
    problem.textContent = text;
    problem.hidden = !text;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { values, problem } = read(new FormData(form));
    const text = comment.value.trim();
    if (problem || !text) {
      showProblem(problem ?? translate("Write a comment: it says why."));
      if (!problem) comment.focus();
      return;
    }
    dialog.close();
    send({ ...values, comment: text });
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());

  /** `initialComment`: the comment typed on the page. */
  return (initialComment) => {
    showProblem("");
    comment.value ||= initialComment;
    dialog.showModal();
  };
}

const createWithdrawal = (parts) => createDialog("withdraw", { ...parts, read: () => ({ values: {} }) });

function createReturn(parts) {
  const form = document.querySelector("#return-dialog form");
  form.addEventListener("change", ({ target }) => {
    if (target.name === "judgment" && target.checked) form.querySelector('[value="raters"]').checked = true;
  });
  return createDialog("return", { ...parts, read: readReturn });
}

/** The form's choice of raters, as the API takes it. */
export function readReturn(data) {
  if (data.get("to") === "pool") return { values: { to: "pool", votes: Number(data.get("votes")) || undefined } };
  const judgments = data.getAll("judgment");
  if (data.get("to") === "raters" && judgments.length) return { values: { to: "raters", judgments } };
  return { values: {}, problem: translate("Choose at least one rater, or the pool.") };
}
