/**
 * Case requests: an expert's decisions sent to the server, and the notice when it refuses one. A refusal loses nothing that
 * was typed: the page goes on only when the server has stored the decision.
 */
import { failureText, request } from "../delivery/api.js";
import { translate } from "../page/texts.js";

/** By the API's stable codes. */
const CONFLICTS = {
  undo_over: translate("This decision cannot be undone any more."),
  version_changed: translate(
    "This item was changed meanwhile, so nothing was saved. Your text stays on this page, and is restored when you open the item again.",
  ),
  claim_lost: translate(
    "Your claim of this case has ended, so nothing was saved. What you typed is kept: reload the page to claim the case again, then save.",
  ),
  claimed_by_other: translate(
    "Another expert has taken this case meanwhile, so nothing was saved. What you typed is kept on this page.",
  ),
  resolved: translate(
    "This case has been decided meanwhile, perhaps in another window, so nothing was saved. What you typed is kept on this page.",
  ),
  item_withdrawn: translate(
    "This item was withdrawn meanwhile, so nothing was saved. What you typed is kept on this page.",
  ),
  nothing_changed: translate("Nothing is changed yet. If it is right as it stands, choose “Fine as it is”."),
  not_judged: translate("Judge the case yourself first: reload the page."),
};

/** `notice(text, {look, actions})` shows a sentence; `lock(isLocked)` disables the form while a request is under way. */
export function createCaseRequests({ urls, caseId, account, notice, lock }) {
  let isBusy = false;

  async function send(path, body, id = caseId) {
    if (isBusy) return null;
    isBusy = true;
    lock(true);
    notice(translate("Sending…"));
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
    const signIn = { text: translate("Sign in (opens a new tab)"), href: urls.sign_in };
    const wantsSignIn = ["signed_out", "redirected"].includes(outcome.kind);
    notice(translate("Nothing was saved: {reason} What you typed is kept; try again.", { reason: failureText(outcome) }), { look: "warning", actions: wantsSignIn ? [signIn] : [] });
  }

  function conflictText({ code, detail, errors }) {
    if (code in CONFLICTS) return CONFLICTS[code];
    return translate("The server refused: {detail}", { detail: [detail, ...errors.map(({ message }) => message)].join(" ") });
  }

  const reloadAction = { text: translate("Reload the page"), onclick: () => globalThis.location.reload() };

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
