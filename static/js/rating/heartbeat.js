/** Keeps leases alive while somebody looks at the page: at once when it comes to the front, then every 30 seconds. */
const EVERY_MS = 30_000;

/** `held()` gives assignment ids; `onKept(id)` and `onLost(id)` are told which the server keeps and which it has closed. */
export function startHeartbeat({ api, held, onKept, onLost }) {
  async function beat() {
    if (document.visibilityState !== "visible") return;
    for (const id of held()) {
      const outcome = await api.heartbeat(id);
      if (outcome.kind === "ok") onKept(id);
      if (outcome.kind === "refused") onLost(id);
    }
  }
  setInterval(beat, EVERY_MS);
  document.addEventListener("visibilitychange", beat);
}
