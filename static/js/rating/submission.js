/** Sending a task's answers, and everything that can come back. The page goes on only from `onDone`. */
import { placeOf, problemsOf, toAnswers } from "./answers.js";

// The server has closed the task to this rater: nothing can be changed about it, so the way is on.
const OVER = [
  ...["already_submitted", "client_id_reused", "skipped", "not_found", "closed"],
  ...["window_closed", "not_changeable"],
];

/**
 * `gates`: each is asked whether a task may be sent; `gate(task)` gives null, or {text, focus} that says why not.
 * `onDone({stored, surplus})` is called when the server has the vote, or when the rater leaves a closed task behind.
 */
export function createSubmission({ outbox, delivery, screen, t, urls, study, gates = [], onDone }) {
  let sending = null; // the id of the vote on its way
  const form = screen.part("form");

  function isReady({ view, draft }) {
    const problems = problemsOf(view.asked.asks, draft.values, draft.codes);
    view.asked.showProblems(problems.map(({ ask, part, message, values }) => ({ ask, part, text: t(message, values) })));
    if (problems.length) screen.notice(t("missing.summary", { count: problems.length }), { look: "error" });
    return !problems.length;
  }

  function mayPass(task) {
    for (const gate of gates) {
      const refusal = gate(task);
      if (!refusal) continue;
      screen.notice(refusal.text, { look: "warning" });
      refusal.focus?.();
      return false;
    }
    return true;
  }

  async function send(task) {
    if (!isReady(task) || !mayPass(task)) return;
    task.view.player.pause();
    const entry = entryOf(task, study);
    sending = entry.id;
    lock(true);
    screen.notice(t("sending.now"));
    await outbox.add(entry); // before the request: whatever happens now, it is not lost
    const outcome = await delivery.deliver(entry.id);
    sending = null;
    lock(false);
    settle(outcome, entry, task);
  }

  function settle(outcome, entry, task) {
    if (outcome.kind === "cancelled") return edit();
    if (outcome.kind === "refused") return refuse(outcome, entry, task);
    if (!outcome.body?.surplus) return onDone({ stored: true, surplus: false });
    stand(t("sending.surplus"), task, { stored: true, surplus: true });
  }

  function edit() {
    screen.clearNotice();
    screen.part("submit").focus();
  }

  /** Why the vote is not with the server yet, while it is this page's turn to wait. */
  function wait(outcome, seconds) {
    const again = { text: t("sending.again"), onclick: () => delivery.sendNow() };
    const change = { text: t("sending.edit"), onclick: () => delivery.cancel(sending) };
    const signIn = { text: t("sending.sign_in"), href: urls.sign_in };
    const wantsSignIn = ["signed_out", "redirected"].includes(outcome.kind);
    screen.notice(`${reason(t, outcome)} ${t("sending.retry_in", { seconds })}`, {
      look: "warning",
      actions: [...(wantsSignIn ? [signIn] : []), again, change],
    });
  }

  function refuse(outcome, entry, task) {
    outbox.forget(entry.id); // what was refused is said here, and the answers are still on the page
    const text = refusal(t, outcome);
    if (OVER.includes(outcome.code)) return stand(text, task);
    const placed = outcome.errors.map(({ field, message }) => ({ ...placeOf(field, entry.body.answers), text: message }));
    const [onPage, elsewhere] = [placed.filter((each) => each.part), placed.filter((each) => !each.part)];
    screen.notice([text, ...elsewhere.map((each) => each.text)].join(" "), { look: "error" });
    task.view.asked.showProblems(onPage);
  }

  /** The task is over and something should be read before the next one. */
  function stand(text, task, done = { stored: false, surplus: false }) {
    task.over = true;
    task.view.player.pause();
    lock(true);
    const goOn = () => {
      lock(false);
      onDone(done);
    };
    const notice = screen.notice(text, { look: "warning", actions: [{ text: t("sending.next"), onclick: goOn }] });
    notice.querySelector("button").focus();
  }

  /** Nothing can be entered, skipped or stopped while a vote is on its way. */
  function lock(is) {
    screen.part("asked").inert = is;
    for (const name of ["submit", "skip", "stop", "undo", "leave-change"]) screen.part(name).disabled = is;
    form.setAttribute("aria-busy", String(is));
  }

  return {
    send,
    stand,
    wait,

    /** A vote of this page is on its way. */
    get sending() {
      return sending !== null;
    },

    /** So it is, or something has to be read first: nothing can be entered. */
    get busy() {
      return sending !== null || form.getAttribute("aria-busy") === "true";
    },
  };
}

/** Why something has not reached the server, in a sentence. */
export function reason(t, { kind, code, detail }) {
  return t(code === "other_account" ? "sending.other_account" : `sending.${kind}`, { detail });
}

/** Why the server will not take something, in a sentence. */
export function refusal(t, { code, detail }) {
  const known = t(`refused.${code}`, { detail });
  return known === `refused.${code}` ? t("refused.other", { detail }) : known;
}

function entryOf({ assignment, view, draft, log, changing }, study) {
  return {
    id: draft.clientId,
    study,
    assignmentId: assignment.id,
    kind: assignment.caseId ? "review" : changing ? "revision" : "judgment",
    caseId: assignment.caseId,
    body: {
      client_id: draft.clientId,
      answers: toAnswers(view.asked.asks, draft.values),
      codes: draft.codes,
      comment: draft.comment.trim(),
      telemetry: log(),
    },
  };
}
