/** Sending a task's answers, and everything that can come back. The page goes on only from `onDone`. */
import { placeOf, problemsOf, toAnswers } from "./answers.js";
import { createDelivery } from "./delivery.js";

// The server has closed the task to this rater: nothing can be changed about it, so the way is on.
const OVER = ["already_submitted", "client_id_reused", "skipped", "given_back", "not_found", "closed"];

/** `onDone({counted})` is called when the server has the vote, or when the rater leaves a closed task behind. */
export function createSubmission({ api, screen, t, urls, onDone }) {
  let delivery = null;
  const form = screen.part("form");

  for (const type of ["online", "focus"]) globalThis.addEventListener(type, () => delivery?.nudge());

  async function send(task) {
    const { asked, player } = task.view;
    const problems = problemsOf(asked.asks, task.draft.values, task.draft.codes);
    asked.showProblems(problems.map(({ ask, part, message, values }) => ({ ask, part, text: t(message, values) })));
    if (problems.length) {
      screen.notice(t("missing.summary", { count: problems.length }), { look: "error" });
      return;
    }
    player.pause();
    const judgment = bodyOf(task);
    lock(true);
    screen.notice(t("sending.now"));
    delivery = createDelivery({ send: () => api.submit(task.assignment.id, judgment), onWaiting: wait });
    const outcome = await delivery.run();
    delivery = null;
    screen.unsent(false);
    lock(false);
    settle(outcome, judgment, task);
  }

  function settle(outcome, judgment, task) {
    if (outcome.kind === "cancelled") return edit();
    if (outcome.kind === "refused") return refuse(outcome, judgment, task);
    if (!outcome.body?.surplus) return onDone({ counted: true });
    stand(t("sending.surplus"), task);
  }

  function edit() {
    screen.clearNotice();
    screen.part("submit").focus();
  }

  function wait(outcome, seconds) {
    screen.unsent(true);
    const again = { text: t("sending.again"), onclick: () => delivery?.nudge() };
    const change = { text: t("sending.edit"), onclick: () => delivery?.cancel() };
    const signIn = { text: t("sending.sign_in"), href: urls.sign_in };
    const text = [t(`sending.${outcome.kind}`, { detail: outcome.detail }), seconds && t("sending.retry_in", { seconds })];
    screen.notice(text.filter(Boolean).join(" "), {
      look: "warning",
      actions: outcome.kind === "signed_out" ? [signIn, again] : [again, change],
    });
  }

  function refuse({ code, detail, errors }, judgment, task) {
    const known = t(`refused.${code}`, { detail });
    const text = known === `refused.${code}` ? t("refused.other", { detail }) : known;
    if (OVER.includes(code)) return stand(text, task);
    const placed = errors.map(({ field, message }) => ({ ...placeOf(field, judgment.answers), text: message }));
    const [onPage, elsewhere] = [placed.filter((each) => each.part), placed.filter((each) => !each.part)];
    screen.notice([text, ...elsewhere.map((each) => each.text)].join(" "), { look: "error" });
    task.view.asked.showProblems(onPage);
  }

  /** The task is over and something should be read before the next one. */
  function stand(text, task) {
    task.over = true;
    lock(true);
    const goOn = () => {
      lock(false);
      onDone({ counted: false });
    };
    const notice = screen.notice(text, { look: "warning", actions: [{ text: t("sending.next"), onclick: goOn }] });
    notice.querySelector("button").focus();
  }

  /** Nothing can be entered, skipped or stopped while a vote is on its way. */
  function lock(is) {
    screen.part("asked").inert = is;
    for (const name of ["submit", "skip", "stop"]) screen.part(name).disabled = is;
    form.setAttribute("aria-busy", String(is));
  }

  return {
    send,
    get busy() {
      return delivery !== null || form.getAttribute("aria-busy") === "true";
    },
  };
}

function bodyOf({ view, draft }) {
  return {
    client_id: draft.clientId,
    answers: toAnswers(view.asked.asks, draft.values),
    codes: draft.codes,
    comment: draft.comment.trim(),
  };
}
