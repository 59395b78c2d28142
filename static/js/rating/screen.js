/** The parts of the workbench that are there all the time: which state it shows, progress, notices, announcements. */
import { h } from "../page/dom.js";

export function createScreen(root, t) {
  const part = (name) => document.querySelector(`[data-part="${name}"]`);
  const notice = part("notice");

  return {
    part,

    /** One of loading, working, end, halted. */
    show(state) {
      root.dataset.state = state;
      for (const section of root.querySelectorAll("[data-when]")) section.hidden = section.dataset.when !== state;
      for (const tool of ["stop", "keys"]) part(tool).hidden = state !== "working";
      part("spectrograms").hidden ||= state !== "working";
    },

    announce: (text) => (part("announcement").textContent = text),

    progress({ done, tasks }) {
      part("progress-text").textContent = t("part.progress", { done, tasks });
      part("progress").max = Math.max(1, tasks);
      part("progress").value = done;
    },

    /** The browser keeps nothing: what is not sent is lost with the page. */
    unsafe: () => (part("unsafe").hidden = false),

    /** Whether an earlier answer is being changed: then it says so, and the way back is there. */
    changing(is) {
      root.classList.toggle("changing", is);
      for (const name of ["changing", "leave-change", "save-label"]) part(name).hidden = !is;
      for (const name of ["submit-label", "skip", "stop"]) part(name).hidden = is;
    },

    undo: (is) => {
      for (const button of root.querySelectorAll('[data-action="undo"]')) button.hidden = !is;
    },

    /** A sentence by the submit button, with what can be done about it: {text, href} or {text, onclick}. */
    notice(text, { look = "", actions = [] } = {}) {
      const buttons = actions.map(({ text: label, href, onclick }) =>
        href
          ? h("a", { class: "button", href, target: "_blank" }, label)
          : h("button", { class: "button", type: "button", onclick }, label),
      );
      notice.className = `notice ${look}`;
      notice.replaceChildren(h("p", {}, text), ...(buttons.length ? [h("div", { class: "row" }, buttons)] : []));
      notice.hidden = false;
      return notice;
    },

    clearNotice() {
      notice.hidden = true;
      notice.replaceChildren();
    },

    halt({ text, mayHelpToSignIn }) {
      part("halt-text").textContent = text;
      part("halt-sign-in").hidden = !mayHelpToSignIn;
      if (root.dataset.state === "halted") return; // only the reason is new
      this.show("halted");
      part("halt-title").focus();
    },

    end(progress) {
      part("end-count").textContent = t("part.progress", progress);
      this.show("end");
      part("end-title").focus();
    },
  };
}
