/** Listening log (telemetry): spans heard, in seconds, and actions in one task, small enough to travel with the vote. */
// Of at most 18 characters each, of the 4096 that a log may have. Beyond them the shortest span is dropped here too: the
// page must not promise a coverage that the server will not find in the log.
const MAX_SPANS = 160;

const COUNTERS = ["switches", "plays", "seeks", "loops", "stalls", "devices", "interruptions"];

/** `previous` is the log of the same task from before a reload: this one goes on from there. `isShown`: whether the task is
 * on the page already. */
export function createListeningLog({ previous = {}, isShown = true, now = () => performance.now() / 1000 } = {}) {
  const heard = new Map(Object.entries(previous.heard ?? {}));
  const counts = Object.fromEntries(COUNTERS.map((name) => [name, previous[name] ?? 0]));
  const volume = [...(previous.volume ?? [1, 1])];
  const startedAt = { shown: isShown ? now() : null, muted: null, hidden: null };
  const totals = { shown: previous.shown_s ?? 0, muted: previous.muted_s ?? 0, hidden: previous.hidden_s ?? 0 };

  let dropped = previous.dropped ?? 0;

  /** Any span but the one that ends at `to` in this clip, which may be growing. */
  function dropShortestSpan(name, to) {
    const all = [...heard].flatMap(([clip, spans]) => spans.map((span) => ({ clip, span })));
    if (all.length <= MAX_SPANS) return;
    const length = ({ span }) => span[1] - span[0];
    const candidates = all.filter(({ clip, span }) => clip !== name || to < span[0] || to > span[1]);
    const { clip, span } = candidates.reduce((shortest, each) => (length(each) < length(shortest) ? each : shortest));
    heard.set(clip, heard.get(clip).filter((each) => each !== span));
    dropped += 1;
  }

  return {
    addSpan(name, from, to) {
      heard.set(name, mergeSpans([...(heard.get(name) ?? []), [from, to]]));
      dropShortestSpan(name, to);
    },
    count: (name) => (counts[name] += 1),
    volume(value) {
      volume[0] = Math.min(volume[0], value);
      volume[1] = Math.max(volume[1], value);
    },
    /** Time in a state is added up; `name` is "shown", "muted" or "hidden". */
    setState(name, isOn) {
      if (isOn) startedAt[name] ??= now();
      else if (startedAt[name] !== null) {
        totals[name] += now() - startedAt[name];
        startedAt[name] = null;
      }
    },
    heard: (name) => heard.get(name) ?? [],
    heardSeconds: (name) => (heard.get(name) ?? []).reduce((sum, [from, to]) => sum + to - from, 0),
    get switches() {
      return counts.switches;
    },
    /** The log as the API takes it, with `extra` fields. */
    toJSON(extra = {}) {
      const length = (name) => round(totals[name] + (startedAt[name] === null ? 0 : now() - startedAt[name]));
      return {
        v: 1,
        heard: Object.fromEntries([...heard].map(([name, spans]) => [name, spans.map((span) => span.map(round))])),
        ...counts,
        volume: volume.map(round),
        muted_s: length("muted"),
        hidden_s: length("hidden"),
        shown_s: length("shown"),
        dropped,
        ...extra,
      };
    },
  };
}

/** The union of spans, in order: overlapping and touching ones become one. */
export function mergeSpans(spans) {
  const merged = [];
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

function round(value) {
  return Math.round(value * 100) / 100;
}
