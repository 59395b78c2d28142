/**
 * Emptying the outbox: again and again with growing pauses, until the server has answered yes or no to every vote.
 * Each try sends the same vote under the same name, so that one which arrived unnoticed is not counted twice.
 */
const FIRST_PAUSE_S = 2;
const LONGEST_PAUSE_S = 30;

/**
 * `onWaiting(entry, outcome, seconds)` tells why a vote waits and for how long; `onSettled(entry, outcome, awaited)`
 * that the server has answered, and whether somebody on this page waits for it. `pause(seconds)` resolves after a while.
 */
export function createDelivery({ outbox, onWaiting, onSettled, pause = sleep, random = Math.random, now = Date.now }) {
  const awaited = new Map();
  let running = null;
  let again = false;
  let notBefore = 0;
  let wake = () => {};

  function settle(id, outcome) {
    const resolve = awaited.get(id);
    awaited.delete(id);
    resolve?.(outcome);
    return Boolean(resolve);
  }

  async function run() {
    do {
      again = false;
      await empty();
    } while (again); // one came in meanwhile
  }

  async function empty() {
    for (let tries = 0; ; ) {
      const sent = await outbox.sendNext().catch(failed);
      if (!sent) return;
      const { entry, outcome } = sent;
      if (outcome.kind === "ok" || outcome.kind === "refused") {
        tries = 0;
        onSettled(entry, outcome, settle(entry.id, outcome));
      } else {
        await wait(entry, outcome, pauseAfter(tries, outcome, random));
        tries += 1;
      }
    }
  }

  async function wait(entry, outcome, seconds) {
    notBefore = now() + 1000 * (outcome.againAfter ?? 0);
    const nudged = new Promise((resolve) => (wake = resolve));
    onWaiting(entry, outcome, seconds);
    await Promise.race([nudged, pause(seconds)]);
    wake = () => {};
  }

  function start() {
    again = true;
    running ??= run().finally(() => (running = null));
    return running;
  }

  return {
    /** Send whatever waits. Resolves when nothing is left to send. */
    drain: start,

    /** Resolves with the outcome of this entry: "ok", "refused", or {kind: "cancelled"}. */
    deliver(id) {
      const outcome = new Promise((resolve) => awaited.set(id, resolve));
      start();
      return outcome;
    },

    /** The network is back, or the tab is in front again: try now, unless the server has asked for a while. */
    nudge: () => now() >= notBefore && wake(),

    /** Somebody pressed the button. */
    sendNow() {
      wake();
      start();
    },

    /** Take a vote back, to change it. One that is just being sent is let go. */
    async cancel(id) {
      if (!(await outbox.withdraw(id))) return;
      settle(id, { kind: "cancelled" });
      wake();
    },

    /** Another tab says what became of it. Resolves with whether somebody here waits for that. */
    async learn(id, outcome) {
      if (outcome.kind === "ok") await outbox.forget(id);
      const isAwaited = settle(id, outcome);
      wake();
      return isAwaited;
    },
  };
}

/** Half of the growing pause, and up to as much again by chance: many pages must not come back at one moment. */
export function pauseAfter(tries, { againAfter = 0 } = {}, random = Math.random) {
  const longest = Math.min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** tries);
  return Math.max(againAfter, Math.ceil((longest * (1 + random())) / 2));
}

const failed = (error) => ({ entry: null, outcome: { kind: "failed", detail: String(error) } });

function sleep(seconds) {
  return new Promise((resolve) => setTimeout(resolve, Math.min(seconds * 1000, 2 ** 31 - 1)));
}
