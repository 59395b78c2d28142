/**
 * What an expert decides, sent to the server; and what to say when it does not do it. Nothing typed is lost by a refusal:
 * the page goes on only when the server has said yes.
 */
import { request } from "../delivery/api.js";
import { reason } from "../rating/submission.js";

/** `notice(text, {look, actions})` shows a sentence; `lock(is)` keeps anything from being pressed meanwhile. */
export function createSending({ urls, caseId, account, t, notice, lock }) {
  let busy = false;

  async function send(path, body, id = caseId) {
    if (busy) return null;
    busy = true;
    lock(true);
    notice(t("sending.now"));
    const outcome = await request(`${urls.cases}${id}/${path}/`, { method: "POST", body, account });
    busy = false;
    lock(false);
    if (outcome.kind === "ok") {
      notice("");
      return outcome.body;
    }
    refuse(outcome);
    return null;
  }

  function refuse(outcome) {
    if (outcome.kind === "refused") return notice(sentence(outcome), { look: "warning", actions: [reload()] });
    const signIn = { text: t("sending.sign_in"), href: urls.sign_in };
    const wantsSignIn = ["signed_out", "redirected"].includes(outcome.kind);
    notice(t("desk.not_sent", { reason: reason(t, outcome) }), { look: "warning", actions: wantsSignIn ? [signIn] : [] });
  }

  function sentence({ code, detail, errors }) {
    const known = t(`conflict.${code}`);
    if (known !== `conflict.${code}`) return known;
    return t("desk.refused", { detail: [detail, ...errors.map(({ message }) => message)].join(" ") });
  }

  const reload = () => ({ text: t("desk.reload"), onclick: () => globalThis.location.reload() });

  return {
    get busy() {
      return busy;
    },
    correct: ({ texts, drafts, reason: why, comment, rewrite }, version) =>
      send("correction", { version_id: version, texts, drafts, reason: why, comment, rewrite_answers: rewrite }),
    fine: (comment) => send("fine", { comment }),
    withdraw: (comment) => send("withdrawal", { comment }),
    sendBack: (body) => send("returns", body),
    undo: (id) => send("undo", {}, id),
  };
}

/** What was decided before this page, and the button that takes it back: null where nothing can be. */
/** `undo(caseId)` resolves with the case, null where it could not be; then the page of that case opens. */
export function createToast(root, { undo, onUndone }) {
  const button = root.querySelector("[data-undo]");
  if (!button) return null;

  async function press() {
    const undone = await undo(button.dataset.undo);
    if (!undone) return;
    onUndone();
    const address = new URL(globalThis.location);
    address.pathname = address.pathname.replace(/\d+\/$/, `${undone.id}/`);
    address.searchParams.delete("decided");
    globalThis.location.assign(address);
  }

  button.addEventListener("click", press);
  return { press };
}
