/**
 * Sender: empties the outbox, with retry and exponential backoff, until the server has acknowledged or refused every
 * vote. Each attempt sends the same idempotency key, so that a vote which arrived unnoticed is not counted twice.
 */
const BACKOFF_BASE_S = 2;
const BACKOFF_MAX_S = 30;

/**
 * `onWaiting(entry, outcome, seconds)`: a vote was not delivered and is retried after so long. `onSettled(entry, outcome,
 * isAwaited)`: the server has answered, and whether this page waits for it. `wait(seconds)` resolves after a while.
 */
export function createSender({ outbox, onWaiting, onSettled, wait = sleep, random = Math.random, now = Date.now }) {
  const awaited = new Map();
  let running = null;
  let hasMore = false;
  let throttledUntil = 0;
  let retry = () => {};

  function settle(id, outcome) {
    const resolve = awaited.get(id);
    awaited.delete(id);
    resolve?.(outcome);
    return Boolean(resolve);
  }

  async function run() {
    do {
      hasMore = false;
      await sendAll();
    } while (hasMore); // an entry was added meanwhile
  }

  async function sendAll() {
    for (let failures = 0; ; ) {
      const sent = await outbox.sendNext().catch(storeFailure);
      if (!sent) return;
      const { entry, outcome } = sent;
      if (outcome.kind === "ok" || outcome.kind === "refused") {
        failures = 0;
        onSettled(entry, outcome, settle(entry.id, outcome));
      } else {
        await backOff(entry, outcome, backoffSeconds(failures, outcome, random));
        failures += 1;
      }
    }
  }

  async function backOff(entry, outcome, seconds) {
    throttledUntil = now() + 1000 * (outcome.retryAfter ?? 0);
    const retried = new Promise((resolve) => (retry = resolve));
    onWaiting(entry, outcome, seconds);
    await Promise.race([retried, wait(seconds)]);
    retry = () => {};
  }

  function start() {
    hasMore = true;
    running ??= run().finally(() => (running = null));
    return running;
  }

  return {
    /** Send every pending entry. Resolves when nothing is left to send. */
    drain: start,

    /** Resolves with the outcome of this entry: "ok", "refused", or {kind: "cancelled"}. */
    deliver(id) {
      const outcome = new Promise((resolve) => awaited.set(id, resolve));
      start();
      return outcome;
    },

    /** The network is back, or the tab is in front again: retry now, unless the server asked for a pause (Retry-After). */
    retryUnlessThrottled: () => now() >= throttledUntil && retry(),

    /** The rater pressed the button. */
    sendNow() {
      retry();
      start();
    },

    /** Take a vote back, to change it. One that is just being sent is left alone. */
    async cancel(id) {
      if (!(await outbox.withdraw(id))) return;
      settle(id, { kind: "cancelled" });
      retry();
    },

    /** Another tab has sent it. Resolves with whether this page waits for it. */
    async settleFromOtherTab(id, outcome) {
      if (outcome.kind === "ok") await outbox.remove(id);
      const isAwaited = settle(id, outcome);
      retry();
      return isAwaited;
    },
  };
}

/** Exponential backoff with jitter: half of it fixed, half random, so that many pages do not retry at one moment. */
export function backoffSeconds(failures, { retryAfter = 0 } = {}, random = Math.random) {
  const longest = Math.min(BACKOFF_MAX_S, BACKOFF_BASE_S * 2 ** failures);
  return Math.max(retryAfter, Math.ceil((longest * (1 + random())) / 2));
}

const storeFailure = (error) => ({ entry: null, outcome: { kind: "failed", detail: String(error) } });

function sleep(seconds) {
  return new Promise((resolve) => setTimeout(resolve, Math.min(seconds * 1000, 2 ** 31 - 1)));
}
