/** Revisions: going back to a submitted answer of this session, to change it while the study allows it. */
import { safeStorage } from "../page/storage.js";
import { translate } from "../page/texts.js";
import { toValues } from "./answers.js";

/**
 * Answer history of this tab, latest last, each answer until its revision window closes. A reload keeps it. `owner` names
 * account and study.
 */
export function createAnswerHistory(owner, { sessionStorage = globalThis.sessionStorage, now = Date.now } = {}) {
  const storage = safeStorage(sessionStorage);
  const storageKey = `concord:answered:${owner}`;
  let answered = storage.getJson(storageKey) ?? [];

  function save(list) {
    answered = list.filter(({ until }) => until > now());
    storage.setJson(storageKey, answered);
  }

  return {
    add: (id, minutes) => save([...answered.filter((each) => each.id !== id), { id, until: now() + 60_000 * minutes }]),
    remove: (id) => save(answered.filter((each) => each.id !== id)),

    /** The latest answer, or the latest before `id`; null when there is none to go back to. */
    before(id = null) {
      save(answered);
      const index = answered.findIndex((each) => each.id === id);
      return (index < 0 ? answered.at(-1) : answered[index - 1])?.id ?? null;
    },
  };
}

/** The assignment that the page's address names by `?again=`, once: a reload goes on with the work. Null for none. */
export function takeRequestedId({ location, history }) {
  const address = new URL(location.href);
  const id = address.searchParams.get("again");
  if (id === null) return null;
  address.searchParams.delete("again");
  history.replaceState(null, "", address);
  return /^[0-9a-f-]{36}$/.test(id) ? id : null;
}

/** `isBusy()`: a vote is on its way; `onEnd(hasTask)` follows the end of a revision: whether the task put aside is back. */
export function createRevisions({ api, queue, currentTask, drafts, history, screen, isBusy, onEnd }) {
  let isFetching = false;

  async function openPrevious() {
    if (isFetching) return;
    const { task } = currentTask;
    const id = history.before(task?.isRevision ? task.assignment.id : null);
    const problem = id ? await open(id) : translate("There is no answer here that can still be changed.");
    if (problem) screen.notice(problem, { look: id ? "warning" : "" });
  }

  /** Shows the submitted answer of an assignment for revision; resolves with a sentence about the error, empty for none. */
  async function open(id) {
    const { generation } = currentTask;
    isFetching = true;
    const outcome = await fetchSubmitted(id);
    isFetching = false;
    if (currentTask.generation !== generation || isBusy()) return ""; // the rater has gone on meanwhile
    if (outcome.kind === "ok") {
      currentTask.startRevision(outcome);
      return "";
    }
    if (outcome.kind === "refused") history.remove(id);
    return translate("Your earlier answer could not be fetched: {detail}", { detail: outcome.detail });
  }

  async function fetchSubmitted(id) {
    const outcome = await api.submittedAnswers(id);
    if (outcome.kind !== "ok") return outcome;
    const { assignment, answers, codes, comment, telemetry } = outcome.body;
    const protocol = await queue.protocol(assignment.protocol_version);
    return { ...protocol, assignment, initialDraft: { values: toValues(answers), codes, comment, log: telemetry ?? undefined } };
  }

  /** Back to the task that was put aside, if there was one. */
  function end() {
    drafts.remove(currentTask.task.draftKey);
    onEnd(currentTask.endRevision());
  }

  return { openPrevious, open, end };
}
