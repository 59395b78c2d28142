/** What was heard and done in a task, small enough to travel with the vote. Times in seconds, of media where of a clip. */
const MOST_BYTES = 3900; // of 4096: the page adds a few facts of its own

const COUNTED = ["switches", "plays", "seeks", "loops", "stalls", "devices", "interruptions"];

/** `before` is the log of the same task from before a reload: this one goes on from there. */
export function createListeningLog({ before = {}, now = () => performance.now() / 1000 } = {}) {
  const heard = new Map(Object.entries(before.heard ?? {}));
  const counts = Object.fromEntries(COUNTED.map((what) => [what, before[what] ?? 0]));
  const volume = [...(before.volume ?? [1, 1])];
  const since = { shown: now(), muted: null, hidden: null };
  const lasted = { shown: before.shown_s ?? 0, muted: before.muted_s ?? 0, hidden: before.hidden_s ?? 0 };

  return {
    note(name, from, to) {
      heard.set(name, merged([...(heard.get(name) ?? []), [from, to]]));
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
    /** As plain data; the shortest stretches are left out, and counted, where it would be too long. */
    toJSON(facts = {}) {
      const length = (what) => round(lasted[what] + (since[what] === null ? 0 : now() - since[what]));
      const log = {
        v: 1,
        heard: Object.fromEntries([...heard].map(([name, spans]) => [name, spans.map((span) => span.map(round))])),
        ...counts,
        volume: volume.map(round),
        muted_s: length("muted"),
        hidden_s: length("hidden"),
        shown_s: length("shown"),
        ...facts,
        dropped: 0,
      };
      while (JSON.stringify(log).length > MOST_BYTES && dropShortest(log.heard)) log.dropped += 1;
      return log;
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

function dropShortest(heard) {
  let shortest = null;
  for (const [name, spans] of Object.entries(heard)) {
    for (const [index, [from, to]] of spans.entries()) {
      if (!shortest || to - from < shortest.length) shortest = { name, index, length: to - from };
    }
  }
  if (shortest) heard[shortest.name].splice(shortest.index, 1);
  return shortest !== null;
}

function round(value) {
  return Math.round(value * 100) / 100;
}
