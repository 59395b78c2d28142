/**
 * One sound at a time, from a task's clips. Everything else on the page speaks to this interface only:
 *   play(name?) pause() toggle() switchOver() seek(seconds, name?) restart() position(name?) retry(name) dispose()
 *   current playing waiting locked level.volume level.muted loop switches, has(name) failure(name) heard(name) heardSeconds(name)
 *   log(facts): what travels with the vote
 * Events: "change" (what plays, and whether), "time", "ended", "failed", "heard" with detail.name, and "state" with
 * detail.kind: locked, blocked, hidden, interrupted, device, silent, broken. `switchOver` goes round the clips of one
 * group, which share their place; `engine` is the page's (engine.js), `loader` the task's (loader.js).
 */
import { createListeningLog } from "./listening_log.js";
import { RATE, SHORTEST_LOOP_S } from "./mixer.js";

export function createPlayer({ engine, loader, clips, fadeMs = 5, before, onIdle = () => {}, page = globalThis.document }) {
  const events = new EventTarget();
  const log = createListeningLog({ before });
  const sounds = new Map(clips.map((clip) => [clip.name, clip]));
  const positions = new Map();
  const failures = new Map();
  const leaving = new AbortController();
  let current = clips[0]?.name ?? null;
  let playing = false;
  let waiting = false;
  let locked = false;
  let loop = null;
  const noteSwitch = createSwitchCount({
    isVersion: (name) => sound(name).switches,
    isHeard: (name) => log.heardSeconds(name) > 0,
    onSwitch: () => log.count("switches"),
  });
  const watchdog = createWatchdog(() => stopped("silent"));

  const tell = (type, detail = { name: current }) => events.dispatchEvent(new CustomEvent(type, { detail }));
  const sound = (name) => sounds.get(name ?? current);
  const place = (name) => positions.get(sound(name)?.group) ?? 0;
  const { order, open } = linkMixer({ engine, loader, clips, fadeMs, onReport: take, onFailed: fail, onIdle });

  function take(report, { isCurrent }) {
    for (const { name, from, to } of report.heard) log.note(name, from / RATE, to / RATE);
    if (report.heard.length) tell("heard");
    watchdog.expect(playing);
    if (!isCurrent) return;
    for (const [group, frame] of Object.entries(report.positions)) positions.set(group, frame / RATE);
    if (report.waiting && !waiting) log.count("stalls");
    const before = [playing, waiting, current].join();
    ({ playing, waiting, current } = report);
    if (playing) loader.focus(current, place());
    if (waiting && failures.has(current)) return pause(); // what is missing will not come
    for (const name of report.ended) tell("ended", { name });
    if (before !== [playing, waiting, current].join()) tell("change");
    if (playing) tell("time");
  }

  function fail(name, error) {
    failures.set(name, error);
    if (waiting && current === name) pause();
    tell("failed", { name });
  }

  function tryAgain(name) {
    failures.delete(name);
    loader.retry(name);
    tell("change");
  }

  function stopped(kind) {
    if (!playing) return;
    log.count("interruptions");
    pause();
    tell("state", { kind });
  }

  async function play(name = current) {
    if (!sounds.has(name)) return;
    if (locked) return tell("state", { kind: "locked" });
    if (failures.has(name)) tryAgain(name);
    if (!playing) log.count("plays");
    goTo(name);
    playing = true;
    loader.focus(name, place());
    tell("change");
    const awake = await engine.ready.then(engine.wake).catch((error) => fail(name, error) ?? null);
    if (awake === null || !playing || leaving.signal.aborted) return;
    if (!awake) return stopped("blocked");
    order("play", { name: current });
    watchdog.expect(playing);
  }

  function pause() {
    watchdog.expect(false);
    playing = waiting = false;
    order("pause");
    tell("change");
  }

  function goTo(name) {
    noteSwitch(current, name);
    current = name;
  }

  function select(name) {
    goTo(name);
    order("select", { name });
    loader.focus(current, place());
    tell("change");
  }

  function seek(seconds, name = current) {
    if (!sounds.has(name)) return;
    const { group, samples } = sound(name);
    const to = Math.min(Math.max(0, seconds), samples / RATE);
    positions.set(group, to);
    log.count("seeks");
    if (!playing && name !== current) select(name); // whoever looks for a place in a clip is about to play it
    order("seek", { name, frame: Math.round(to * RATE) });
    loader.focus(name, to);
    for (const clip of clips) if (clip.group === group) tell("time", { name: clip.name });
  }

  const { signal } = leaving;
  const onChange = () => tell("change");
  const onHidden = () => stopped("hidden");
  const audibility = createAudibility({ engine, log, order, page, signal, onHidden, onChange });
  for (const kind of ["interrupted", "device", "broken"]) {
    engine.addEventListener(kind, () => stopped(kind), { signal });
  }
  globalThis.addEventListener?.("online", () => [...failures.keys()].forEach(tryAgain), { signal });
  engine.addEventListener("device", () => log.count("devices"), { signal });
  audibility.apply();
  open();

  return {
    addEventListener: events.addEventListener.bind(events),
    level: audibility,
    get current() {
      return current;
    },
    get playing() {
      return playing;
    },
    get waiting() {
      return playing && waiting;
    },
    get locked() {
      return locked;
    },
    set locked(is) {
      locked = is;
      if (is && playing) pause();
      tell("change");
    },
    get loop() {
      return loop;
    },
    /** [from, to] in seconds, at least half a second long; null for none. */
    set loop(range) {
      if (range && range[1] - range[0] < SHORTEST_LOOP_S) return;
      if (range) log.count("loops");
      loop = range;
      loader.loop(range);
      order("setLoop", { range: range && range.map((seconds) => Math.round(seconds * RATE)) });
      tell("change");
    },
    get switches() {
      return log.switches;
    },
    has: (name) => sounds.has(name),
    /** Why a clip cannot be had: null, or "failed", "insecure" or "unsupported". */
    failure: (name) => (failures.has(name) ? (failures.get(name).code ?? "failed") : null),
    heard: log.heard,
    heardSeconds: log.heardSeconds,
    log: (facts = {}) => log.toJSON({ latency_ms: engine.latencyMs, ...facts }),
    position: (name) => (sounds.has(name ?? current) ? Math.min(place(name), sound(name).samples / RATE) : 0),
    play,
    pause,
    seek,
    toggle: () => (playing ? pause() : play()),
    restart: () => seek(0),
    retry: play,
    switchOver() {
      const group = clips.filter((clip) => clip.switches);
      const next = group[(group.indexOf(sound()) + 1) % group.length];
      if (!next || next === sound()) return;
      const keepsPlace = sound().group === next.group;
      if (playing || !keepsPlace) return play(next.name);
      return select(next.name);
    },
    dispose() {
      watchdog.expect(false);
      leaving.abort();
      engine.order("pause");
      loader.close();
    },
  };
}

/** Whether somebody can hear what plays: the volume, the mute switch, the page in front or not. Notes it in the log. */
function createAudibility({ engine, log, order, page, signal, onHidden, onChange }) {
  let muted = false;

  function apply() {
    const value = muted ? 0 : engine.volume;
    log.volume(value);
    log.during("muted", value === 0);
    log.during("hidden", page.hidden);
    order("setVolume", { value });
    order("setAudible", { value: value > 0 && !page.hidden });
  }

  function onVisibility() {
    apply();
    if (page.hidden) onHidden();
  }

  page.addEventListener("visibilitychange", onVisibility, { signal });
  return {
    apply,
    get volume() {
      return engine.volume;
    },
    set volume(value) {
      engine.volume = Math.min(1, Math.max(0, value));
      muted = false;
      apply();
      onChange();
    },
    get muted() {
      return muted;
    },
    set muted(is) {
      muted = is;
      apply();
      onChange();
    },
  };
}

/**
 * Between one task's player and the page's mixer: orders go out numbered, reports come in told apart.
 * A report from before the latest order says what was heard, but nothing of how things stand now.
 */
function linkMixer({ engine, loader, clips, fadeMs, onReport, onFailed, onIdle }) {
  let latest = Infinity;
  const order = (name, facts, transfer) => (latest = engine.order(name, facts, transfer));
  const first = engine.order("pause") + 1; // what was reported before is of the task before

  engine.attach((report) => report.ticket >= first && onReport(report, { isCurrent: report.ticket >= latest }));
  const voices = clips.map(({ name, group, samples, gain_db }) => {
    return { name, group, frames: samples, gain: 10 ** ((gain_db ?? 0) / 20) };
  });
  order("reset", { clips: voices, fadeMs });

  return {
    order,
    /** Now parts may come: what is there, and what is on its way. */
    open() {
      const sink = {
        put: (part) => engine.order("put", part, part.channels.map(({ buffer }) => buffer)),
        drop: (part) => engine.order("drop", part),
      };
      loader.connect(sink, { onFailed, onIdle });
      engine.ready.catch((error) => clips.forEach(({ name }) => onFailed(name, error)));
    },
  };
}

/** From one version, some of which was heard, to another is a switch: playing or not, by way of the reference or not. */
/** `isVersion(name)`: one of those compared; `isHeard(name)`: some of it. Returns what to call with (from, to). */
function createSwitchCount({ isVersion, isHeard, onSwitch }) {
  let heardLast = null;
  return (from, to) => {
    if (isVersion(from) && isHeard(from)) heardLast = from;
    if (!isVersion(to) || heardLast === null || heardLast === to) return;
    heardLast = null;
    onSwitch();
  };
}

/** Nobody must sit before a player that only looks as if it played. */
// A mixer that plays reports thirty times a second; when it says nothing for so long, nothing can be heard.
const SILENCE_MS = 2000;

function createWatchdog(onSilence) {
  let timer = null;
  return {
    /** Whether to hear from the mixer soon; each call begins the wait anew. */
    expect(is) {
      clearTimeout(timer);
      if (is) timer = setTimeout(onSilence, SILENCE_MS);
    },
  };
}
