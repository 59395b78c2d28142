/** What was heard and done in a task, small enough to travel with the vote. Times in seconds, of media where of a clip. */
// Of at most 18 characters each, of the 4096 that a log may have. Beyond them the shortest is forgotten, here and for
// good: what the page says has been heard is what the server will find in the log.
const MOST_STRETCHES = 160;

const COUNTED = ["switches", "plays", "seeks", "loops", "stalls", "devices", "interruptions"];

/** `before` is the log of the same task from before a reload: this one goes on from there. */
export function createListeningLog({ before = {}, now = () => performance.now() / 1000 } = {}) {
  const heard = new Map(Object.entries(before.heard ?? {}));
  const counts = Object.fromEntries(COUNTED.map((what) => [what, before[what] ?? 0]));
  const volume = [...(before.volume ?? [1, 1])];
  const since = { shown: now(), muted: null, hidden: null };
  const lasted = { shown: before.shown_s ?? 0, muted: before.muted_s ?? 0, hidden: before.hidden_s ?? 0 };

  let dropped = before.dropped ?? 0;

  /** All but the one that ends at `to` in this clip: it may be growing. */
  function forgetShortest(name, to) {
    const stretches = [...heard].flatMap(([clip, spans]) => spans.map((span) => ({ clip, span })));
    if (stretches.length <= MOST_STRETCHES) return;
    const length = ({ span }) => span[1] - span[0];
    const rest = stretches.filter(({ clip, span }) => clip !== name || to < span[0] || to > span[1]);
    const { clip, span } = rest.reduce((shortest, each) => (length(each) < length(shortest) ? each : shortest));
    heard.set(clip, heard.get(clip).filter((each) => each !== span));
    dropped += 1;
  }

  return {
    note(name, from, to) {
      heard.set(name, merged([...(heard.get(name) ?? []), [from, to]]));
      forgetShortest(name, to);
    },
    count: (what) => (counts[what] += 1),
    volume(value) {
      volume[0] = Math.min(volume[0], value);
      volume[1] = Math.max(volume[1], value);
    },
    /** `what` is "muted" or "hidden". */
    during(what, is) {
      if (is) since[what] ??= now();
      else if (since[what] !== null) {
        lasted[what] += now() - since[what];
        since[what] = null;
      }
    },
    heard: (name) => heard.get(name) ?? [],
    heardSeconds: (name) => (heard.get(name) ?? []).reduce((sum, [from, to]) => sum + to - from, 0),
    get switches() {
      return counts.switches;
    },
    toJSON(facts = {}) {
      const length = (what) => round(lasted[what] + (since[what] === null ? 0 : now() - since[what]));
      return {
        v: 1,
        heard: Object.fromEntries([...heard].map(([name, spans]) => [name, spans.map((span) => span.map(round))])),
        ...counts,
        volume: volume.map(round),
        muted_s: length("muted"),
        hidden_s: length("hidden"),
        shown_s: length("shown"),
        dropped,
        ...facts,
      };
    },
  };
}

/** Overlapping and touching stretches become one; in order. */
export function merged(spans) {
  const result = [];
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else result.push([from, to]);
  }
  return result;
}

function round(value) {
  return Math.round(value * 100) / 100;
}
