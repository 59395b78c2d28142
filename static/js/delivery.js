/**
 * Bringing one vote to the server: again and again with growing pauses, until it answers yes or no.
 * Each try sends the same vote under the same name, so that one which arrived unnoticed is not counted twice.
 */
const FIRST_PAUSE_S = 2;
const LONGEST_PAUSE_S = 60;

/**
 * `send()` gives an outcome (see api.js). `onWaiting(outcome, seconds)` tells why it waits, and for how long; seconds
 * is null when only somebody signing in can help. `pause(seconds)` resolves after a while.
 */
export function createDelivery({ send, onWaiting, pause = sleep }) {
  let wake = () => {};
  let cancelled = false;
  return {
    /** Resolves with the outcome that settled it: "ok", "refused", or {kind: "cancelled"}. */
    async run() {
      for (let tries = 0; !cancelled; tries += 1) {
        const outcome = await send();
        if (outcome.kind === "ok" || outcome.kind === "refused") return outcome;
        if (cancelled) break;
        const seconds = outcome.kind === "signed_out" ? null : pauseAfter(tries);
        const nudged = new Promise((resolve) => (wake = resolve));
        onWaiting(outcome, seconds);
        await Promise.race(seconds === null ? [nudged] : [nudged, pause(seconds)]);
      }
      return { kind: "cancelled" };
    },
    /** Try now: the network is back, the tab is in front again, or somebody pressed the button. */
    nudge: () => wake(),
    cancel() {
      cancelled = true;
      wake();
    },
  };
}

export function pauseAfter(tries) {
  return Math.min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** tries);
}

function sleep(seconds) {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
