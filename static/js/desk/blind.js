/**
 * The first stage of the review desk: the expert judges a case's task as any rater would, on the workbench's bench, and
 * knows nothing yet of what others said. Once the server has the judgment, the page loads again and shows the desk.
 */
import { actionsFor } from "../keys/task_actions.js";
import { createApi } from "../delivery/api.js";
import { createBench } from "../rating/current_task.js";
import { createSending, createToast } from "./case_requests.js";
import { createDrafts } from "../delivery/drafts.js";
import { createEngine } from "../player/engine.js";
import { startHeartbeat } from "../rating/heartbeat.js";
import { createKeyDialog } from "../keys/key_dialog.js";
import { createKeyMap } from "../keys/key_map.js";
import { createPost } from "../delivery/delivery.js";
import { createScreen } from "../rating/screen.js";
import { createClipCache } from "../player/clip_cache.js";
import { listen } from "../keys/shortcuts.js";
import { createSpectrogramSwitch, hasSpectrograms } from "../player/spectrogram.js";
import { createSubmission } from "../rating/submission.js";
import { translator } from "../page/texts.js";

export default async function blind(root) {
  const { account, study, caseId, language, texts, urls } = JSON.parse(document.getElementById("blind-data").textContent);
  const t = translator(texts);
  const api = createApi(urls, { account });
  const briefing = () => api.blind(caseId);
  const screen = createScreen(root, t);
  const keys = createKeyMap(globalThis.localStorage);
  const drafts = createDrafts(globalThis.localStorage);
  const sound = { engine: createEngine(), clipCache: createClipCache({ api: { assignment: briefing } }) };
  const spectrograms = createSpectrogramSwitch(screen.part("spectrograms"));
  const bench = createBench({ drafts, screen, sound, language, t, facts: () => ({}), onChange: screen.clearNotice, onTask: show });
  const post = createPost({ api, account, screen, t, language, onWaiting: wait, onStray: settledElsewhere });
  const gates = [(task) => task.gate?.refusal()];
  const submission = createSubmission({ ...post, screen, t, urls, study, gates, onDone: finish });
  const sending = createSending({ urls, caseId, account, t, notice: say, lock: (is) => (screen.part("form").inert = is) });
  const toast = createToast(root, { undo: sending.undo, onUndone() {} });
  const page = {
    submit: () => submission.send(bench.task),
    undo: () => toast?.press(), // of the case before
    skip: () => screen.part("skip").click(),
    showKeys: () => keyDialog.show(),
    spectrograms,
    focusSubmit: () => screen.part("submit").focus(),
  };
  const keyDialog = createKeyDialog({ keys, singles: listen(onKey, keys), task: () => bench.task, offered, t });

  function actions(task) {
    const { undo, ...rest } = actionsFor(task, page);
    return toast ? { ...rest, undo } : rest;
  }

  function offered(task) {
    return Object.keys(actions(task));
  }

  function say(text, options) {
    if (text) screen.notice(text, options);
    else screen.clearNotice();
  }

  async function begin() {
    screen.show("loading");
    await post.delivery.drain(); // what was left unsent may be the judgment of this very case
    const outcome = await briefing();
    if (outcome.kind === "ok") return open(outcome.body);
    if (outcome.code === "closed") return globalThis.location.reload(); // judged: the desk is next
    halt(outcome);
  }

  async function open(assignment) {
    const asked = await api.protocol(assignment.protocol_version);
    if (asked.kind !== "ok") return halt(asked);
    bench.put({ assignment: { ...assignment, caseId }, definition: asked.body.definition });
  }

  function show(task) {
    keys.reserveFor(task.definition);
    spectrograms.setAvailable(hasSpectrograms(task.assignment));
    screen.show("working");
    screen.announce([t("blind.say"), task.hold.sentence].join(" "));
    task.view.focus();
  }

  function finish() {
    drafts.remove(bench.task.draftKey);
    globalThis.location.reload();
  }

  function settledElsewhere(entry, outcome) {
    if (entry.kind === "review" && entry.caseId === caseId && outcome.kind === "ok") globalThis.location.reload();
  }

  function wait(outcome, seconds) {
    if (submission.sending) submission.wait(outcome, seconds);
    else if (!bench.task) halt(outcome);
  }

  function halt({ kind, code, detail }) {
    const known = [`state.${code}`, `state.${kind}`].find((key) => key in texts);
    const text = known ? t(known, { detail }) : detail;
    screen.halt({ text, mayHelpToSignIn: ["signed_out", "redirected"].includes(kind) });
  }

  function onKey(name) {
    const { task } = bench;
    if (!task || submission.busy) return false;
    const act = actions(task)[keys.actionOf(name)];
    if (!act) return task.view.press(name);
    act();
    return true;
  }

  screen.part("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (bench.task && !submission.busy) page.submit();
  });
  root.querySelector('[data-action="again"]').addEventListener("click", () => globalThis.location.reload());
  globalThis.addEventListener("beforeunload", (event) => submission.sending && event.preventDefault());
  startHeartbeat({
    api: { heartbeat: api.keepCase },
    held: () => [caseId],
    onKept() {},
    onLost: () => submission.busy || screen.notice(t("claim.over"), { look: "warning" }),
  });
  return begin();
}
