/** The listening checks' part of the API. Every call ends in an outcome, as in api.js. */
import { request } from "../delivery/api.js";

const SOUND_TIMEOUT_MS = 20_000;

/** `account` names who opened the page, as in api.js. */
export function createCheckApi(urls, account) {
  const check = (id, path) => `${urls.check}${id}/${path}`;
  return {
    standings: () => request(urls.checks, { method: "GET", account }),
    start: (kind) => request(urls.checks, { method: "POST", body: { kind }, account }),
    answer: (id, trial, choice) => request(check(id, "answers/"), { method: "POST", body: { trial, choice }, account }),
    /** The bytes of a trial's sound. This one throws: the player says so. */
    async sound(id, trial) {
      const signal = AbortSignal.timeout(SOUND_TIMEOUT_MS);
      const response = await fetch(check(id, `sounds/${trial}/`), { redirect: "error", signal });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return response.arrayBuffer();
    },
  };
}
