/** Going back to an answer of this session, to change it while the study lets its rater. */
import { toValues } from "./answers.js";

/**
 * What was answered in this tab, latest last, each until it can no longer be changed. A reload does not forget it.
 * `whose` keeps accounts and studies apart.
 */
export function createHistory(whose, { storage = globalThis.sessionStorage, now = Date.now } = {}) {
  const name = `concord:answered:${whose}`;
  let answered = read(storage, name);

  function keep(list) {
    answered = list.filter(({ until }) => until > now());
    try {
      storage.setItem(name, JSON.stringify(answered));
    } catch {
      // it then lasts as long as the page
    }
  }

  return {
    add: (id, minutes) => keep([...answered.filter((each) => each.id !== id), { id, until: now() + 60_000 * minutes }]),
    forget: (id) => keep(answered.filter((each) => each.id !== id)),

    /** The one answered last, or last before `id`; null when there is none to go back to. */
    before(id = null) {
      keep(answered);
      const place = answered.findIndex((each) => each.id === id);
      return (place < 0 ? answered.at(-1) : answered[place - 1])?.id ?? null;
    },
  };
}

/** The assignment that the page's address names by `?again=`, once: after a reload the work goes on. Null for none. */
export function takeNamed({ location, history }) {
  const address = new URL(location.href);
  const id = address.searchParams.get("again");
  if (id === null) return null;
  address.searchParams.delete("again");
  history.replaceState(null, "", address);
  return /^[0-9a-f-]{36}$/.test(id) ? id : null;
}

/** `isBusy()`: a vote is on its way; `onBack(isBack)` follows the way back, where a task may have been put aside. */
export function createChanging({ api, queue, bench, drafts, history, screen, t, isBusy, onBack }) {
  let fetching = false;

  async function open() {
    if (fetching) return;
    const { task } = bench;
    const id = history.before(task?.changing ? task.assignment.id : null);
    const refusal = id ? await reopen(id) : t("change.none");
    if (refusal) screen.notice(refusal, { look: id ? "warning" : "" });
  }

  /** Puts what was answered to an assignment on the bench; where that cannot be had, the sentence that says so. */
  async function reopen(id) {
    const { changes } = bench;
    fetching = true;
    const outcome = await fetchGiven(id);
    fetching = false;
    if (bench.changes !== changes || isBusy()) return ""; // the rater has gone on meanwhile
    if (outcome.kind === "ok") {
      bench.change(outcome);
      return "";
    }
    if (outcome.kind === "refused") history.forget(id);
    return t("change.failed", { detail: outcome.detail });
  }

  async function fetchGiven(id) {
    const outcome = await api.given(id);
    if (outcome.kind !== "ok") return outcome;
    const { assignment, answers, codes, comment, telemetry } = outcome.body;
    const asks = await queue.definition(assignment.protocol_version);
    return { ...asks, assignment, begun: { values: toValues(answers), codes, comment, log: telemetry ?? undefined } };
  }

  /** Back to the task at hand, or to where there was none. */
  function leave() {
    drafts.remove(bench.task.draftKey);
    onBack(bench.bringBack());
  }

  return { open, reopen, leave };
}

function read(storage, name) {
  try {
    return JSON.parse(storage.getItem(name)) ?? [];
  } catch {
    return [];
  }
}
