/** The rater's instrument: fetch a task, show it, take the answers to the server, go on only when it has said yes. */
import { actionsFor } from "./actions.js";
import { createApi } from "./api.js";
import { prepareKeys, showKeys } from "./dialogs.js";
import { createDrafts, isEmpty } from "./drafts.js";
import { createEngine } from "./engine.js";
import { startHeartbeat } from "./heartbeat.js";
import { createKeyMap } from "./key_map.js";
import { createQueue } from "./queue.js";
import { createScreen } from "./screen.js";
import { createShelf } from "./shelf.js";
import { listen } from "./shortcuts.js";
import { createSubmission } from "./submission.js";
import { createTaskView } from "./task_view.js";
import { translator } from "./texts.js";
import { createWayOut } from "./way_out.js";

export default function workbench(root) {
  const { language, texts, urls, protocol, progress } = JSON.parse(document.getElementById("workbench-data").textContent);
  const t = translator(texts);
  const api = createApi(urls);
  const queue = createQueue(api);
  const drafts = createDrafts(globalThis.localStorage);
  const sound = { engine: createEngine(), shelf: createShelf({ api }) };
  const screen = createScreen(root, t);
  const keys = createKeyMap(globalThis.localStorage);
  // The task at hand: {assignment, definition, draft, view, over}; null between tasks and at the end.
  let task = null;

  const submission = createSubmission({ api, screen, t, urls, onDone: finish });
  const wayOut = createWayOut({ api, queue, screen, t, language, home: urls.home, onSkipped: () => finish({ counted: false }) });
  queue.learn(protocol.number, protocol.definition);
  screen.progress(progress);

  async function advance() {
    close();
    screen.show("loading");
    const outcome = await queue.take();
    if (outcome.kind !== "ok") return halt(outcome);
    if (outcome.fresh !== false) Object.assign(progress, outcome.body.progress);
    screen.progress(progress);
    if (!outcome.body.assignment) {
      screen.announce(t("say.end"));
      return screen.end(progress);
    }
    open(outcome.body.assignment, outcome.definition);
    queue.lookAhead();
  }

  function open(assignment, definition) {
    const draft = drafts.open(assignment.id);
    const view = createTaskView({
      assignment,
      definition,
      draft,
      language,
      t,
      given: screen.part("given"),
      place: screen.part("asked"),
      sound,
      onChange() {
        drafts.save(assignment.id, draft);
        screen.clearNotice(); // it was about the answers as they were
      },
    });
    task = { assignment, definition, draft, view, over: false };
    keys.reserveFor(definition);
    screen.clearNotice();
    screen.show("working");
    screen.announce(t("say.task", { progress: t("part.progress", progress) }));
    globalThis.scrollTo(0, 0);
    view.focus();
  }

  function close() {
    task?.view.dispose();
    task = null;
  }

  /** The task is over: stored, skipped, or closed by the server. */
  function finish({ counted }) {
    drafts.remove(task.assignment.id);
    if (counted) progress.done += 1;
    return advance();
  }

  function halt(outcome) {
    const known = `state.${outcome.code ?? outcome.kind}`;
    const text = known in texts ? t(known, { detail: outcome.detail }) : outcome.detail;
    screen.halt({ text, mayHelpToSignIn: outcome.kind === "signed_out" });
  }

  const page = {
    submit: () => submission.send(task),
    skip: () => wayOut.skip(task),
    showKeys,
    focusSubmit: () => screen.part("submit").focus(),
  };

  function onKey(name) {
    if (!task || submission.busy) return false;
    const act = actionsFor(task, page)[keys.actionOf(name)];
    if (!act) return task.view.asked.press(name);
    act();
    return true;
  }

  screen.part("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (task && !submission.busy) submission.send(task);
  });
  for (const button of root.querySelectorAll('[data-action="again"]')) button.addEventListener("click", advance);
  screen.part("skip").addEventListener("click", () => wayOut.skip(task));
  screen.part("stop").addEventListener("click", () => wayOut.stop(task, drafts));
  globalThis.addEventListener("beforeunload", (event) => {
    if (task && !task.over && !wayOut.leaving && !isEmpty(task.draft)) event.preventDefault();
  });
  prepareKeys(listen(onKey));
  startHeartbeat({
    api,
    held: queue.held,
    onLost(id) {
      queue.drop(id);
      if (id === task?.assignment.id && !submission.busy) screen.notice(t("lease.over"), { look: "warning" });
    },
  });
  return advance();
}
