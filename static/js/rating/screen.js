/** Screen: the parts of a workbench page that outlast a task: its state, progress, notices, announcements. */
import { h } from "../page/dom.js";
import { translate } from "../page/texts.js";

export function createScreen(root) {
  const part = (name) => document.querySelector(`[data-part="${name}"]`);
  const notice = part("notice");

  return {
    part,

    /** `state`: loading, working, resting, end or halted. */
    show(state) {
      root.dataset.state = state;
      for (const section of root.querySelectorAll("[data-when]")) section.hidden = section.dataset.when !== state;
      for (const tool of ["stop", "keys"]) part(tool).hidden = state !== "working";
      part("spectrograms").hidden ||= state !== "working";
    },

    announce: (text) => (part("announcement").textContent = text),

    showProgress({ done, tasks }) {
      part("progress-text").textContent = translate("{done} of {tasks} done", { done, tasks });
      part("progress").max = Math.max(1, tasks);
      part("progress").value = done;
    },

    /** Browser storage failed: unsent answers would be lost with the page. */
    showUnsafe: () => (part("unsafe").hidden = false),

    /** Whether an earlier answer is being revised: the banner and the button that ends it. */
    showRevision(isShown) {
      root.classList.toggle("changing", isShown);
      for (const name of ["changing", "leave-change", "save-label"]) part(name).hidden = !isShown;
      for (const name of ["submit-label", "skip", "stop"]) part(name).hidden = isShown;
    },

    showUndo: (isShown) => {
      for (const button of root.querySelectorAll('[data-action="undo"]')) button.hidden = !isShown;
    },

    /** Whether the task is one of the training: which of how many it is, and nothing skips it. */
    showTraining(place) {
      root.classList.toggle("training", Boolean(place));
      part("training").hidden = !place;
      if (!place) return;
      part("training-place").textContent = translate("Training task {number} of {tasks}.", place);
      part("skip").hidden = true;
      this.showProgress({ done: place.number - 1, tasks: place.tasks });
    },

    /** A notice by the submit button, with `details` below its text; `actions` are {text, href} or {text, onclick}. */
    notice(text, { look = "", actions = [], details = [] } = {}) {
      const buttons = actions.map(({ text: label, href, onclick }) =>
        href
          ? h("a", { class: "button", href, target: "_blank" }, label)
          : h("button", { class: "button", type: "button", onclick }, label),
      );
      notice.className = `notice ${look}`;
      notice.replaceChildren(h("p", {}, text), ...details, ...(buttons.length ? [h("div", { class: "row" }, buttons)] : []));
      notice.hidden = false;
      return notice;
    },

    clearNotice() {
      notice.hidden = true;
      notice.replaceChildren();
    },

    showHalt({ text, mayHelpToSignIn }) {
      part("halt-text").textContent = text;
      part("halt-sign-in").hidden = !mayHelpToSignIn;
      if (root.dataset.state === "halted") return; // only the reason is new
      this.show("halted");
      part("halt-title").focus();
    },

    showEnd(progress) {
      part("end-count").textContent = translate("{done} of {tasks} done", progress);
      this.show("end");
      part("end-title").focus();
    },
  };
}
