/**
 * What is on the bench: one task with its draft, and the one put aside while an earlier answer is changed. A task is
 *   {assignment, definition, draft, draftKey, view, log(), gate, hold, changing, touched, over, lost}
 * An answer that is changed was listened to before: it has neither gate nor hold.
 */
import { createListenGate, holdUntilRead } from "./listen_gate.js";
import { createTaskView } from "./task_view.js";

const SAVE_HEARD_MS = 1000;
const UNHELD = { sentence: "", dispose() {} };

/** `onTask(task)` follows each change of what is on the bench; `facts()` is what the page adds to a listening log. */
export function createBench({ drafts, screen, sound, language, t, facts, onChange, onTask }) {
  const given = screen.part("given");
  let task = null;
  let changes = 0;
  let aside = null;

  function put({ assignment, definition, changing = false, begun }) {
    clear(); // whatever is there: there is room for one
    const draftKey = changing ? `${assignment.id}:change` : assignment.id;
    const draft = drafts.open(draftKey, begun);
    const entered = () => {
      next.touched = true;
      drafts.save(draftKey, draft);
      onChange();
    };
    const place = screen.part("asked");
    const view = createTaskView({ assignment, definition, draft, language, t, given, place, sound, onChange: entered });
    const log = () => view.player.log(facts());
    keepHeard({ player: view.player, save: () => drafts.save(draftKey, Object.assign(draft, { log: log() })) });
    const marks = { changing, touched: false, over: false, lost: false };
    const next = { assignment, definition, draft, draftKey, view, log, ...marks };
    screen.part("listen-line").hidden = true; // until something has to be heard
    Object.assign(next, changing ? { gate: null, hold: UNHELD } : listening(next));
    task = next;
    onTask(task);
  }

  /** What was heard is kept with the draft: a reload does not ask for it again. */
  function keepHeard({ player, save }) {
    let savedAt = -Infinity;
    player.addEventListener("heard", () => {
      if (performance.now() - savedAt < SAVE_HEARD_MS) return;
      savedAt = performance.now();
      save();
    });
    player.addEventListener("change", () => player.playing || save()); // and the rest, when it stops
  }

  function listening({ assignment, view: { player } }) {
    // A panel's clips stand beside what is asked of them.
    const heard = { player, given: screen.part("form"), t, announce: screen.announce };
    const gate = createListenGate({
      ...heard,
      assignment,
      language,
      line: screen.part("listen-line"),
      onMended: screen.clearNotice,
    });
    return { gate, hold: holdUntilRead({ ...heard, seconds: assignment.listening.instruction_seconds }) };
  }

  function clear() {
    task?.hold.dispose();
    task?.view.dispose();
    task = null;
    changes += 1;
  }

  return {
    get task() {
      return task;
    },

    /** How often it was cleared: who waits for something knows by it whether the bench is still as it was. */
    get changes() {
      return changes;
    },
    put,
    clear,

    /** Put an earlier answer on the bench; the task at hand waits beside it. */
    change({ assignment, definition, begun }) {
      if (task && !task.changing) {
        drafts.save(task.draftKey, Object.assign(task.draft, { log: task.log() }));
        aside = { assignment: task.assignment, definition: task.definition };
      }
      put({ assignment, definition, changing: true, begun });
    },

    /** The task that was put aside is back. False when there was none. */
    bringBack() {
      clear();
      if (!aside) return false;
      put(aside);
      aside = null;
      return true;
    },
  };
}
