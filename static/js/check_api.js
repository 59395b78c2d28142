/** The listening checks' part of the API. Every call ends in an outcome, as in api.js, and none throws. */
import { outcomeOf } from "./api.js";

const TIMEOUT_MS = 20_000;

export function createCheckApi(urls) {
  const check = (id, path) => `${urls.check}${id}/${path}`;
  return {
    standings: () => call("GET", urls.checks),
    start: (kind) => call("POST", urls.checks, { kind }),
    answer: (id, trial, choice) => call("POST", check(id, "answers/"), { trial, choice }),
    /** The bytes of a trial's sound. This one throws: the player says so. */
    async sound(id, trial) {
      const response = await fetch(check(id, `sounds/${trial}/`), { redirect: "error", signal: timeout() });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return response.arrayBuffer();
    },
  };
}

async function call(method, url, body) {
  const token = /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";
  const writing = body ? { "Content-Type": "application/json", "X-CSRFToken": token } : {};
  try {
    const response = await fetch(url, {
      method,
      redirect: "error",
      headers: { Accept: "application/json", ...writing },
      body: body && JSON.stringify(body),
      signal: timeout(),
    });
    return outcomeOf(response.status, await response.json());
  } catch (error) {
    return { kind: "unreachable", detail: String(error?.message ?? error) };
  }
}

const timeout = () => AbortSignal.timeout(TIMEOUT_MS);
