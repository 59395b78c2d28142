/** Leaving a task unanswered: skipping it for a reason, or giving everything back for now. */
import { askToSkip, askToStop } from "./leave_dialogs.js";
import { isEmpty } from "../delivery/drafts.js";

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
