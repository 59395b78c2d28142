/** The workbench's dialogs: skipping with a reason, stopping in the middle of an answer. */
import { h } from "../page/dom.js";
import { inLanguage } from "../page/texts.js";

const byId = (id) => document.getElementById(id);

/**
 * Ask why a task is skipped. `send({reason, comment})` tries it and returns null, or a sentence about what is wrong:
 * then the dialog stays. Resolves with whether the task was skipped.
 */
export function askToSkip({ reasons, language, t, send }) {
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
export function askToStop() {
  const dialog = byId("stop-dialog");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "stop");
  });
}
