/** The page of listening checks: takes the rater through those that are due, one after another. */
import { request } from "../delivery/api.js";
import { createTrial } from "./check_trial.js";
import { translator } from "../page/texts.js";

export default function listeningChecks(root) {
  const { account, language, texts, urls } = JSON.parse(document.getElementById("checks-data").textContent);
  const t = translator(texts);
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

  function say(text) {
    part("problem-text").textContent = text;
    part("problem").hidden = false;
  }

  const announce = (text) => (part("announcement").textContent = text);

  async function begin(kind) {
    sounds = new Map();
    const outcome = await api.start(kind);
    if (outcome.kind !== "ok") return fail(outcome);
    open(outcome.body);
  }

  /** The next trial of a run. */
  function open(check) {
    const number = check.n_answered;
    show("running");
    part("run-title").textContent = t(`check.${check.kind}.title`);
    part("run-how").textContent = t(`check.${check.kind}.how`);
    const progress = check.n_trials > 1 ? t("check.progress", { number: number + 1, of: check.n_trials }) : "";
    part("run-progress").textContent = progress;
    part("run-progress").hidden = !progress;
    announce(progress);
    trial = createTrial({
      kind: check.kind,
      intervals: check.intervals,
      nChoices: check.n_choices,
      sound: () => soundOf(check, number),
      t,
      onHeard: () => announce(t(`check.${check.kind}.ask`)),
      onChoice: (choice) => answer(check, number, choice),
      onFailed: () => say(t("check.failed_to_play")),
    });
    part("trial").replaceChildren(trial.element);
    if (number === 0) part("run-title").focus();
    else trial.focus();
    for (const ahead of [number, number + 1]) if (ahead < check.n_trials) soundOf(check, ahead).catch(() => {});
  }

  /** Fetched once; one that failed is fetched again. */
  function soundOf(check, number) {
    if (!sounds.has(number)) {
      const bytes = api.sound(check.id, number);
      bytes.catch(() => sounds.delete(number));
      sounds.set(number, bytes);
    }
    return sounds.get(number);
  }

  async function answer(check, number, choice) {
    const outcome = await api.answer(check.id, number, choice);
    if (outcome.kind !== "ok") return fail(outcome, () => answer(check, number, choice));
    if (outcome.body.state === "open") return open(outcome.body);
    return finish(outcome.body);
  }

  async function finish(check) {
    const outcome = await api.standings();
    if (outcome.kind !== "ok") return fail(outcome, () => finish(check));
    const { checks, due } = outcome.body;
    const standing = checks.find(({ kind }) => kind === check.kind);
    const next = checks.find(({ state }) => state !== "valid");
    show("result");
    part("result-title").textContent = t(check.state === "passed" ? `check.${check.kind}.passed` : "check.not_passed");
    part("result-count").textContent =
      check.n_correct === null ? "" : t("check.count", { right: check.n_correct, of: check.n_trials });
    part("result-advice").textContent = advice(check, standing);
    part("result-next").hidden = !next || next.state === "exhausted";
    part("result-next").textContent = t(next?.kind === check.kind ? "check.try_again" : "check.next");
    part("result-next").onclick = () => begin(next.kind);
    part("result-work").hidden = due;
    part("result-title").focus();
  }

  function advice(check, standing) {
    if (check.state === "passed") return check.kind === "level" ? t("check.level.keep") : "";
    if (standing.state === "valid") return t("check.not_passed.recorded");
    const values = { left: standing.tries_left, time: moment(standing.until) };
    const help = t(`check.${check.kind}.help`);
    return `${help} ${t(standing.state === "exhausted" ? "check.exhausted" : "check.tries_left", values)}`;
  }

  const moment = (iso) =>
    iso ? new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso)) : "";

  function fail(outcome, again = null) {
    const known = `check.${outcome.code ?? outcome.kind}`;
    say(known in texts ? t(known) : outcome.detail);
    part("problem-again").hidden = !again;
    part("problem-again").onclick = () => {
      part("problem").hidden = true;
      again();
    };
  }

  for (const button of root.querySelectorAll("[data-begin]")) {
    button.addEventListener("click", () => begin(button.dataset.begin));
    button.disabled = false; // until now nobody would have heard the press
  }
}

/** The listening checks' part of the API. Every call ends in an outcome, as in api.js. */
const SOUND_TIMEOUT_MS = 20_000;

/** `account` names who opened the page, as in api.js. */
export function createCheckApi(urls, account) {
  const check = (id, path) => `${urls.check}${id}/${path}`;
  return {
    standings: () => request(urls.checks, { method: "GET", account }),
    start: (kind) => request(urls.checks, { method: "POST", body: { kind }, account }),
    answer: (id, trial, choice) => request(check(id, "answers/"), { method: "POST", body: { trial, choice }, account }),
    /** The bytes of a trial's sound. This one throws: the player says so. */
    async sound(id, trial) {
      const signal = AbortSignal.timeout(SOUND_TIMEOUT_MS);
      const response = await fetch(check(id, `sounds/${trial}/`), { redirect: "error", signal });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return response.arrayBuffer();
    },
  };
}
