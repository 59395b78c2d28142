/**
 * Case requests: an expert's decisions sent to the server, and the notice when it refuses one. A refusal loses nothing that
 * was typed: the page goes on only when the server has stored the decision.
 */
import { failureText, request } from "../delivery/api.js";

/** `notice(text, {look, actions})` shows a sentence; `lock(isLocked)` disables the form while a request is under way. */
export function createCaseRequests({ urls, caseId, account, t, notice, lock }) {
  let isBusy = false;

  async function send(path, body, id = caseId) {
    if (isBusy) return null;
    isBusy = true;
    lock(true);
    notice(t("sending.now"));
    const outcome = await request(`${urls.cases}${id}/${path}/`, { method: "POST", body, account });
    isBusy = false;
    lock(false);
    if (outcome.kind === "ok") {
      notice("");
      return outcome.body;
    }
    showFailure(outcome);
    return null;
  }

  function showFailure(outcome) {
    if (outcome.kind === "refused") return notice(conflictText(outcome), { look: "warning", actions: [reloadAction] });
    const signIn = { text: t("sending.sign_in"), href: urls.sign_in };
    const wantsSignIn = ["signed_out", "redirected"].includes(outcome.kind);
    notice(t("desk.not_sent", { reason: failureText(t, outcome) }), { look: "warning", actions: wantsSignIn ? [signIn] : [] });
  }

  function conflictText({ code, detail, errors }) {
    const text = t(`conflict.${code}`);
    if (text !== `conflict.${code}`) return text;
    return t("desk.refused", { detail: [detail, ...errors.map(({ message }) => message)].join(" ") });
  }

  const reloadAction = { text: t("desk.reload"), onclick: () => globalThis.location.reload() };

  return {
    get isBusy() {
      return isBusy;
    },
    correct: ({ texts, drafts, reason, comment, rewrite }, version) =>
      send("correction", { version_id: version, texts, drafts, reason, comment, rewrite_answers: rewrite }),
    fine: (comment) => send("fine", { comment }),
    withdraw: (comment) => send("withdrawal", { comment }),
    sendBack: (body) => send("returns", body),
    undo: (id) => send("undo", {}, id),
  };
}

/**
 * Undo button of the last decision, which reopens its case; null where the page has none. `undo(caseId)` resolves with the
 * case, null when refused.
 */
export function createUndoButton(root, { undo, onUndone }) {
  const button = root.querySelector("[data-undo]");
  if (!button) return null;

  async function press() {
    const reopenedCase = await undo(button.dataset.undo);
    if (!reopenedCase) return;
    onUndone();
    const address = new URL(globalThis.location);
    address.pathname = address.pathname.replace(/\d+\/$/, `${reopenedCase.id}/`);
    address.searchParams.delete("decided");
    globalThis.location.assign(address);
  }

  button.addEventListener("click", press);
  return { press };
}
