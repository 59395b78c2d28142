/** Leaving a task unanswered: skipping it for a reason, or giving everything back for now. */
import { h } from "../page/dom.js";
import { isEmpty } from "../delivery/drafts.js";
import { inLanguage } from "../page/texts.js";

const OVER = ["closed", "not_found"]; // not this rater's any more: nothing is left to skip

export function createWayOut({ api, queue, screen, t, language, home, onSkipped }) {
  let leaving = false;

  async function skip(task) {
    const { assignment, definition, view } = task;
    view.player.pause();
    const send = async (why) => {
      const outcome = await api.skip(assignment.id, why);
      if (outcome.kind === "ok" || OVER.includes(outcome.code)) return null;
      const known = `state.${outcome.kind}`;
      return t(known) === known ? outcome.detail : t(known, { detail: outcome.detail });
    };
    const skipped = await askToSkip({ reasons: definition.skip_reasons ?? [], language, t, send });
    if (skipped && !task.over) onSkipped(); // one that is over meanwhile says so, and has its own way on
  }

  async function stop({ draftKey, draft, view }, drafts) {
    view.player.pause();
    if (!isEmpty(draft) && !(await askToStop())) return;
    for (const id of await queue.stop()) {
      const outcome = await api.giveBack(id);
      if (outcome.kind !== "ok" && outcome.kind !== "refused") {
        screen.notice(t("stop.failed"), { look: "warning", actions: [{ text: t("stop.leave"), onclick: leave }] });
        return;
      }
    }
    drafts.remove(draftKey);
    leave();
  }

  function leave() {
    leaving = true;
    globalThis.location.assign(home);
  }

  return {
    skip,
    stop,
    get leaving() {
      return leaving;
    },
  };
}

/** The workbench's dialogs: skipping with a reason, stopping in the middle of an answer. */
const byId = (id) => document.getElementById(id);

/**
 * Ask why a task is skipped. `send({reason, comment})` tries it and returns null, or a sentence about what is wrong:
 * then the dialog stays. Resolves with whether the task was skipped.
 */
function askToSkip({ reasons, language, t, send }) {
  const dialog = byId("skip-dialog");
  const form = byId("skip-form");
  const problem = byId("skip-problem");
  byId("skip-reasons").replaceChildren(
    ...reasons.map(({ key, title }) =>
      h("label", { class: "check" }, h("input", { type: "radio", name: "reason", value: key }), inLanguage(title, language)),
    ),
  );
  byId("skip-comment").value = "";
  say("");

  function say(text) {
    problem.textContent = text;
    problem.hidden = !text;
  }

  return new Promise((resolve) => {
    const finish = (skipped) => {
      form.onsubmit = null;
      dialog.onclose = null;
      if (dialog.open) dialog.close();
      resolve(skipped);
    };
    form.onsubmit = async (event) => {
      event.preventDefault();
      const reason = new FormData(form).get("reason");
      if (!reason) {
        say(t("skip.choose"));
        form.querySelector("input")?.focus();
        return;
      }
      const refusal = await send({ reason, comment: byId("skip-comment").value.trim() });
      if (refusal === null) finish(true);
      else say(refusal);
    };
    dialog.onclose = () => finish(false);
    dialog.querySelector("[data-close]").onclick = () => dialog.close();
    dialog.showModal();
  });
}

/** Whether to stop although an answer has been begun. */
function askToStop() {
  const dialog = byId("stop-dialog");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "stop");
  });
}
