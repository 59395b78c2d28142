/** The rater's instrument: fetch a task, show it, take the answers to the server, go on only when it has said yes. */
import { actionsFor } from "../keys/task_actions.js";
import { createApi } from "../delivery/api.js";
import { createBench } from "./current_task.js";
import { createChanging, createHistory, takeNamed } from "./revisions.js";
import { createDrafts, isEmpty } from "../delivery/drafts.js";
import { createEngine } from "../player/engine.js";
import { startHeartbeat } from "./heartbeat.js";
import { createKeyDialog } from "../keys/key_dialog.js";
import { createKeyMap } from "../keys/key_map.js";
import { createPost } from "../delivery/delivery.js";
import { memoryStore } from "../delivery/outbox.js";
import { createProgress, createQueue, previewing } from "./task_queue.js";
import { createRest } from "./breaks.js";
import { createScreen } from "./screen.js";
import { createClipCache } from "../player/clip_cache.js";
import { listen } from "../keys/shortcuts.js";
import { createSpectrogramSwitch, hasSpectrograms } from "../player/spectrogram.js";
import { createSubmission, reason } from "./submission.js";
import { translator } from "../page/texts.js";
import { createWayOut } from "./leave.js";

export default function workbench(root) {
  const data = JSON.parse(document.getElementById("workbench-data").textContent);
  const { account, study, language, texts, urls, protocol } = data;
  const t = translator(texts);
  const asked = createApi(urls, { account });
  const api = data.preview ? previewing(asked) : asked;
  const drafts = createDrafts(globalThis.localStorage);
  const history = createHistory(`${account}:${study}`);
  const screen = createScreen(root, t);
  const keys = createKeyMap(globalThis.localStorage);
  const clipCache = createClipCache({ api });
  const sound = { engine: createEngine(), clipCache };
  const progress = createProgress(data.progress, screen.progress);
  const next = progress.following(api.next, () => submission.busy);
  const leaseMs = 60_000 * data.lease_minutes;
  const queue = createQueue({ ...api, next }, { leaseMs, onAhead: clipCache.prefetch, onGone: clipCache.evict });
  const rest = createRest({ screen, language, t, isListening: () => bench.task?.view.player.playing });
  const facts = () => ({ session_s: Math.round(rest.seconds) });
  const bench = createBench({ drafts, screen, sound, language, t, facts, onChange: screen.clearNotice, onTask: show });
  // What is answered in a preview never comes among the votes that wait in this browser.
  const apart = data.preview ? { account: `${account}:preview`, kept: memoryStore() } : { account };
  const post = createPost({ api, ...apart, screen, t, language, onWaiting: wait, onStray: settledElsewhere });
  const gates = [(task) => task.gate?.refusal()];
  const submission = createSubmission({ ...post, screen, t, urls, study, gates, onDone: finish });
  const wayOut = createWayOut({ api, queue, screen, t, language, home: urls.home, onSkipped: () => finish({ stored: false }) });
  let again = post.delivery.sendNow;
  let returned = null; // the answer that an expert asked about, opened from the list of such
  const onBack = (isBack) => isBack || (returned ? globalThis.location.assign(urls.returned) : advance());
  const isBusy = () => submission.busy;
  const changing = createChanging({ api, queue, bench, drafts, history, screen, t, isBusy, onBack });

  async function advance() {
    bench.clear();
    screen.show("loading");
    const outcome = await queue.take();
    if (outcome.kind !== "ok") return halt(outcome);
    const { assignment, definition } = outcome;
    screen.undo(history.before() !== null);
    if (!assignment) {
      screen.announce(t("say.end"));
      return screen.end(progress.numbers);
    }
    if (await rest.pass(assignment.listening)) return advance();
    bench.put({ assignment, definition });
    queue.lookAhead();
  }

  function show(task) {
    keys.reserveFor(task.definition);
    page.spectrograms.setAvailable(hasSpectrograms(task.assignment));
    screen.clearNotice();
    screen.show("working");
    screen.changing(task.changing);
    screen.undo(history.before(task.changing ? task.assignment.id : null) !== null);
    const news = task.changing ? t("change.banner") : t("say.task", { progress: t("part.progress", progress.numbers) });
    screen.announce([news, task.hold.sentence].join(" "));
    globalThis.scrollTo(0, 0);
    task.view.focus();
  }

  /** The task is over: stored, skipped, or closed by the server. */
  function finish({ stored, surplus = false }) {
    const { task } = bench;
    drafts.remove(task.draftKey);
    if (task.changing) {
      changing.leave();
      if (stored) screen.notice(t("change.saved"), { look: "success" });
      return;
    }
    if (stored && !surplus) {
      progress.counted();
      history.add(task.assignment.id, task.assignment.listening.change_minutes);
    }
    advance();
  }

  /** A vote from before this page, or from another tab, has been taken; or refused, and then the list of them says so. */
  function settledElsewhere(entry, outcome) {
    if (outcome.kind !== "ok") return;
    drafts.remove(entry.kind === "revision" ? `${entry.assignmentId}:change` : entry.assignmentId);
    queue.drop(entry.assignmentId);
    if (entry.kind === "judgment" && entry.study === study && !outcome.body?.surplus) progress.counted();
    const { task } = bench;
    const isHere = task?.assignment.id === entry.assignmentId && !task.changing && !task.over;
    if (isHere && !submission.busy) submission.stand(t("refused.elsewhere"), task);
  }

  function wait(outcome, seconds) {
    if (submission.sending) submission.wait(outcome, seconds);
    else if (!bench.task) halt({ ...outcome, text: `${reason(t, outcome)} ${t("sending.retry_in", { seconds })}` });
  }

  function halt(outcome) {
    if (outcome.code === "checks_due") return globalThis.location.assign(urls.checks);
    const known = [outcome.code, outcome.kind].map((name) => `state.${name}`).find((key) => key in texts);
    const text = outcome.text ?? (known ? t(known, { detail: outcome.detail }) : outcome.detail);
    screen.halt({ text, mayHelpToSignIn: ["signed_out", "redirected"].includes(outcome.kind) });
  }

  /** What was left unsent goes first: a vote may be about the very task that would come next. */
  async function begin() {
    screen.show("loading");
    await post.delivery.drain();
    again = advance;
    returned = takeNamed(globalThis);
    const refusal = returned && (await changing.reopen(returned));
    if (returned && !refusal) return;
    returned = null;
    await advance();
    if (refusal) screen.notice(refusal, { look: "warning" });
  }

  const page = {
    submit: () => submission.send(bench.task),
    undo: changing.open,
    skip: () => bench.task.changing || wayOut.skip(bench.task),
    showKeys: () => keyDialog.show(),
    spectrograms: createSpectrogramSwitch(screen.part("spectrograms")),
    focusSubmit: () => screen.part("submit").focus(),
  };

  function onKey(name) {
    const { task } = bench;
    if (submission.busy) return false;
    const action = keys.actionOf(name);
    if (!task && !(action === "undo" && root.dataset.state === "end")) return false;
    const act = task ? actionsFor(task, page)[action] : page.undo;
    if (!act) return task.view.press(name);
    act();
    return true;
  }

  screen.part("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (bench.task && !submission.busy) page.submit();
  });
  const onClick = (selector, act) => {
    for (const button of root.ownerDocument.querySelectorAll(selector)) button.addEventListener("click", act);
  };
  onClick('[data-action="again"]', () => again());
  onClick('[data-action="undo"]', page.undo);
  onClick('[data-part="leave-change"]', changing.leave);
  onClick('[data-part="skip"]', page.skip);
  onClick('[data-part="stop"]', () => wayOut.stop(bench.task, drafts));
  globalThis.addEventListener("beforeunload", (event) => {
    const { task } = bench;
    const isBegun = task && !task.over && (task.changing ? task.touched : !isEmpty(task.draft));
    if (!wayOut.leaving && (isBegun || submission.busy || post.count > 0)) event.preventDefault();
  });
  const keyDialog = createKeyDialog({
    keys,
    singles: listen(onKey, keys),
    task: () => bench.task,
    offered: (task) => Object.keys(actionsFor(task, page)),
    t,
  });
  startHeartbeat({
    api,
    held: queue.held,
    onKept: queue.extended,
    onLost(id) {
      queue.drop(id);
      const { task } = bench;
      if (id !== task?.assignment.id || task.lost || submission.busy) return;
      task.lost = true; // said once: the next beats must not push aside what is said after it
      screen.notice(t("lease.over"), { look: "warning" });
    },
  });
  queue.learn(protocol.number, protocol.definition);
  return begin();
}
