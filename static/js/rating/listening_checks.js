/** Listening checks: the page that takes a rater through the headphone and level checks that are due, one after another. */
import { request } from "../delivery/api.js";
import { translate } from "../page/texts.js";
import { CHECK_FAILURES, CHECK_TEXTS } from "./check_texts.js";
import { createTrial } from "./check_trial.js";

export default function listeningChecks(root) {
  const { account, language, urls } = JSON.parse(document.getElementById("checks-data").textContent);
  const api = createCheckApi(urls, account);
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  let trial = null;
  let sounds = new Map();

  function show(state, heading) {
    for (const section of root.querySelectorAll("[data-when]")) section.hidden = section.dataset.when !== state;
    part("problem").hidden = true;
    part("problem-again").hidden = true;
    trial?.dispose();
    trial = null;
    if (heading) part(heading).focus();
  }

  function showProblem(text) {
    part("problem-text").textContent = text;
    part("problem").hidden = false;
  }

  const announce = (text) => (part("announcement").textContent = text);

  async function startCheck(kind) {
    sounds = new Map();
    const outcome = await api.start(kind);
    if (outcome.kind !== "ok") return showFailure(outcome);
    showTrial(outcome.body);
  }

  /** The next trial of a run. */
  function showTrial(check) {
    const number = check.n_answered;
    show("running");
    part("run-title").textContent = CHECK_TEXTS[check.kind].title;
    part("run-how").textContent = CHECK_TEXTS[check.kind].how;
    const progress = check.n_trials > 1 ? translate("{number} of {of}", { number: number + 1, of: check.n_trials }) : "";
    part("run-progress").textContent = progress;
    part("run-progress").hidden = !progress;
    announce(progress);
    trial = createTrial({
      kind: check.kind,
      intervals: check.intervals,
      nChoices: check.n_choices,
      sound: () => fetchSound(check, number),
      onHeard: () => announce(CHECK_TEXTS[check.kind].ask),
      onChoice: (choice) => submitAnswer(check, number, choice),
      onFailed: () => showProblem(translate("The sound could not be loaded. Check your connection and press Play again.")),
    });
    part("trial").replaceChildren(trial.element);
    if (number === 0) part("run-title").focus();
    else trial.focus();
    for (const upcoming of [number, number + 1]) if (upcoming < check.n_trials) fetchSound(check, upcoming).catch(() => {});
  }

  /** The bytes of a trial's sound: fetched once; after a failure, again. */
  function fetchSound(check, number) {
    if (!sounds.has(number)) {
      const bytes = api.sound(check.id, number);
      bytes.catch(() => sounds.delete(number));
      sounds.set(number, bytes);
    }
    return sounds.get(number);
  }

  async function submitAnswer(check, number, choice) {
    const outcome = await api.submitAnswer(check.id, number, choice);
    if (outcome.kind !== "ok") return showFailure(outcome, () => submitAnswer(check, number, choice));
    if (outcome.body.state === "open") return showTrial(outcome.body);
    return showResult(outcome.body);
  }

  async function showResult(check) {
    const outcome = await api.standings();
    if (outcome.kind !== "ok") return showFailure(outcome, () => showResult(check));
    const { checks, due } = outcome.body;
    const standing = checks.find(({ kind }) => kind === check.kind);
    const next = checks.find(({ state }) => state !== "valid");
    show("result");
    part("result-title").textContent = check.state === "passed" ? CHECK_TEXTS[check.kind].passed : translate("Not quite right");
    part("result-count").textContent =
      check.n_correct === null ? "" : translate("{right} of {of} right.", { right: check.n_correct, of: check.n_trials });
    part("result-advice").textContent = advice(check, standing);
    part("result-next").hidden = !next || next.state === "exhausted";
    part("result-next").textContent = next?.kind === check.kind ? translate("Try again") : translate("Next check");
    part("result-next").onclick = () => startCheck(next.kind);
    part("result-work").hidden = due;
    part("result-title").focus();
  }

  function advice(check, standing) {
    if (check.state === "passed") return check.kind === "level" ? translate("Please leave the volume of your device as it is from now on. What you will judge is as loud as this.") : "";
    if (standing.state === "valid") return translate("Your result is recorded. You can continue.");
    const values = { left: standing.tries_left, time: formatTime(standing.until) };
    const tries =
      standing.state === "exhausted"
        ? translate(
            "That was the last try for now. You can try again from {time}. If you have no other headphones, tell the researcher who invited you.",
            values,
          )
        : translate("Tries left today: {left}.", values);
    return `${CHECK_TEXTS[check.kind].help} ${tries}`;
  }

  const formatTime = (iso) =>
    iso ? new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso)) : "";

  function showFailure(outcome, retry = null) {
    showProblem(CHECK_FAILURES[outcome.code ?? outcome.kind] ?? outcome.detail);
    part("problem-again").hidden = !retry;
    part("problem-again").onclick = () => {
      part("problem").hidden = true;
      retry();
    };
  }

  for (const button of root.querySelectorAll("[data-begin]")) {
    button.addEventListener("click", () => startCheck(button.dataset.begin));
    button.disabled = false; // disabled until this script handles the press
  }
}

const SOUND_TIMEOUT_MS = 20_000;

/** The listening checks' requests, with outcomes as in api.js. `account` names who opened the page. */
function createCheckApi(urls, account) {
  const check = (id, path) => `${urls.check}${id}/${path}`;
  return {
    standings: () => request(urls.checks, { method: "GET", account }),
    start: (kind) => request(urls.checks, { method: "POST", body: { kind }, account }),
    submitAnswer: (id, trial, choice) => request(check(id, "answers/"), { method: "POST", body: { trial, choice }, account }),
    /** The bytes of a trial's sound. This request throws: the player shows the failure. */
    async sound(id, trial) {
      const signal = AbortSignal.timeout(SOUND_TIMEOUT_MS);
      const response = await fetch(check(id, `sounds/${trial}/`), { redirect: "error", signal });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return response.arrayBuffer();
    },
  };
}
