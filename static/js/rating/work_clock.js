/**
 * How long somebody has worked without a pause, over tasks, reloads and windows; when a break is due, and when to stop.
 * Minutes of zero mean never. The state lives in `storage`; without one it lives as long as the page.
 */
const KEY = "concord.work";
export const PAUSE_MS = 5 * 60_000; // so long without a sign of work is a pause, and a new stretch begins after it
export const PUT_OFF_MS = 5 * 60_000;
export const STOP_MS = 10 * 60_000;

export function createWorkClock(storage, { now = Date.now } = {}) {
  let memory = null;

  function read() {
    let state = memory;
    try {
      state = JSON.parse(storage.getItem(KEY)) ?? memory;
    } catch {
      // no storage, or something else under our key
    }
    return Number.isFinite(state?.began) && state.last <= now() ? state : null; // the clock may have been set back
  }

  function write(state) {
    memory = state;
    try {
      storage.setItem(KEY, JSON.stringify(state));
    } catch {
      // full or forbidden: this page still knows
    }
    return state;
  }

  /** The stretch of work that this moment belongs to. */
  function stretch() {
    const state = read();
    if (state?.until) return state.until > now() ? state : begin();
    return state && now() - state.last <= PAUSE_MS ? state : begin();
  }

  const begin = () => ({ began: now(), last: now(), prompted: 0, ask: null, until: null });

  return {
    /** A sign of work: a key, a pointer, sound that plays. */
    touch: () => write({ ...stretch(), last: now() }),

    get seconds() {
      const { began, last } = stretch();
      return Math.round((last - began) / 1000);
    },

    /** What comes before the next task: "work", "break" (may be asked), or "stop" (none is shown until `until`). */
    due({ break_minutes: breakAfter, stop_minutes: stopAfter }) {
      const state = stretch();
      if (state.until > now()) return "stop";
      const worked = state.last - state.began;
      if (stopAfter && worked >= stopAfter * 60_000) return "stop";
      const asks = state.prompted === 0 ? breakAfter && worked >= breakAfter * 60_000 : state.ask && now() >= state.ask;
      return asks ? "break" : "work";
    },

    /** Whether the break that is due can wait: once. */
    get mayPutOff() {
      return stretch().prompted === 0;
    },
    putOff: () => write({ ...stretch(), prompted: 1, ask: now() + PUT_OFF_MS }),
    /** The break is taken; whoever comes back early is not asked again in this stretch. */
    take: () => write({ ...stretch(), prompted: 2, ask: null }),

    /** Begin to stop, or go on with a stop that a reload interrupted: the time at which work may go on. */
    stop() {
      const state = stretch();
      return (state.until > now() ? state : write({ ...state, until: now() + STOP_MS })).until;
    },
  };
}
