/** What an expert can do about a case: correct it, say it is fine, return or withdraw it, put it back. */
import { createEditor, createMemory } from "./editor.js";

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

/**
 * The ways out of a case, and what becomes of typed corrections on each: nobody loses them unasked, and whoever gets the
 * case back from its raters finds them again. Pure.
 */
/**
 * `dialogs.withdrawal(send)` and `dialogs.sendingBack(send)` each give what opens one; `discard(act)` asks before it
 * acts; `leave({decided})` goes on to the next case, which says what became of this one.
 */
export function createWays({ editor, sending, dialogs, discard, leave }) {
  /** Once the server has done it. */
  async function settle(sent, { comesBack = false } = {}) {
    if (!(await sent)) return;
    if (!comesBack || !editor.dirty) editor.forget();
    leave({ decided: true });
  }

  function putBack() {
    editor.forget();
    leave({ decided: false });
  }

  const askToWithdraw = dialogs.withdrawal(({ comment }) => settle(sending.withdraw(comment)));
  const askToReturn = dialogs.sendingBack((values) => settle(sending.sendBack(values), { comesBack: true }));
  const unlessDirty = (act) => (editor.dirty ? discard(act) : act());
  const comment = () => editor.content().comment;

  return {
    correct: (typed, version) => settle(sending.correct(typed, version)),
    fine: () => unlessDirty(() => settle(sending.fine(comment()))),
    send_back: () => askToReturn(comment()),
    withdraw: () => unlessDirty(() => askToWithdraw(comment())),
    put_back: () => unlessDirty(putBack),
  };
}

/** The desk's two dialogs: withdrawing an item, and asking raters again. Each wants a comment, and sends by Ctrl+Enter. */
/** `read(form)` gives {values} or {fault}; `send(values)` takes it from there, and says on the page how it went. */
function createDialog(name, { read, send, t }) {
  const dialog = document.getElementById(`${name}-dialog`);
  const form = dialog.querySelector("form");
  const comment = document.getElementById(`${name}-comment`);
  const problem = document.getElementById(`${name}-problem`);

  function say(text) {
    problem.textContent = text;
    problem.hidden = !text;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { values, fault } = read(new FormData(form));
    const text = comment.value.trim();
    if (fault || !text) {
      say(t(fault ?? "desk.no_comment"));
      if (!fault) comment.focus();
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

  /** `begun`: what was typed as a comment already. */
  return (begun) => {
    say("");
    comment.value ||= begun;
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

/** Whom to ask, from the form, as the API takes it. */
export function readReturn(data) {
  if (data.get("to") === "pool") return { values: { to: "pool", votes: Number(data.get("votes")) || undefined } };
  const judgments = data.getAll("judgment");
  if (data.get("to") === "raters" && judgments.length) return { values: { to: "raters", judgments } };
  return { values: {}, fault: "desk.nobody_chosen" };
}
