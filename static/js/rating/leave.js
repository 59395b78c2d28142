/** Leaving a task without an answer: skip it for a reason, or stop work and return every leased task. */
import { haltText } from "../delivery/api.js";
import { isEmpty } from "../delivery/drafts.js";
import { h } from "../page/dom.js";
import { inLanguage, translate } from "../page/texts.js";

const CLOSED = ["closed", "not_found"]; // the assignment is not this rater's any more: nothing is left to skip

const byId = (id) => document.getElementById(id);

export function createLeave({ api, queue, screen, language, home, onSkipped }) {
  let isLeaving = false;

  async function skip(task) {
    const { assignment, definition, view } = task;
    view.player.pause();
    const send = async (skipReason) => {
      const outcome = await api.skip(assignment.id, skipReason);
      if (outcome.kind === "ok" || CLOSED.includes(outcome.code)) return null;
      return haltText({ kind: outcome.kind, detail: outcome.detail });
    };
    const isSkipped = await showSkipDialog({ reasons: definition.skip_reasons ?? [], language, send });
    if (isSkipped && !task.isClosed) onSkipped(); // a task closed meanwhile has a notice with a button of its own
  }

  async function stop({ draftKey, draft, view }, drafts) {
    view.player.pause();
    if (!isEmpty(draft) && !(await showStopDialog())) return;
    for (const id of await queue.stop()) {
      const outcome = await api.returnAssignment(id);
      if (outcome.kind !== "ok" && outcome.kind !== "refused") {
        screen.notice(translate("The task could not be returned. Its lease expires in a few minutes, and others can have it then."), { look: "warning", actions: [{ text: translate("Leave anyway"), onclick: goHome }] });
        return;
      }
    }
    drafts.remove(draftKey);
    goHome();
  }

  const goHome = () => goTo(home);

  /** Leave for another page of the study, without the browser asking: unsent answers stay in it. */
  function goTo(address) {
    isLeaving = true;
    globalThis.location.assign(address);
  }

  return {
    skip,
    stop,
    goTo,
    get isLeaving() {
      return isLeaving;
    },
  };
}

/**
 * Asks why a task is skipped. `send({reason, comment})` resolves with null, or with a sentence about the error: then the
 * dialog stays. Resolves with whether the task was skipped.
 */
function showSkipDialog({ reasons, language, send }) {
  const dialog = byId("skip-dialog");
  const form = byId("skip-form");
  const problem = byId("skip-problem");
  byId("skip-reasons").replaceChildren(
    ...reasons.map(({ key, title }) =>
      h("label", { class: "check" }, h("input", { type: "radio", name: "reason", value: key }), inLanguage(title, language)),
    ),
  );
  byId("skip-comment").value = "";
  showProblem("");

  function showProblem(text) {
    problem.textContent = text;
    problem.hidden = !text;
  }

  return new Promise((resolve) => {
    const finish = (isSkipped) => {
      form.onsubmit = null;
      dialog.onclose = null;
      if (dialog.open) dialog.close();
      resolve(isSkipped);
    };
    form.onsubmit = async (event) => {
      event.preventDefault();
      const reason = new FormData(form).get("reason");
      if (!reason) {
        showProblem(translate("Choose a reason."));
        form.querySelector("input")?.focus();
        return;
      }
      const problemText = await send({ reason, comment: byId("skip-comment").value.trim() });
      if (problemText === null) finish(true);
      else showProblem(problemText);
    };
    dialog.onclose = () => finish(false);
    dialog.querySelector("[data-close]").onclick = () => dialog.close();
    dialog.showModal();
  });
}

/** Asks whether to stop although the answer is unfinished. */
function showStopDialog() {
  const dialog = byId("stop-dialog");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "stop");
  });
}
