/**
 * The rating API. Every call ends in an outcome and none throws:
 *   {kind: "ok", status, body}           the server has done it
 *   {kind: "refused", code, detail, errors}   it will not, and asking again will not help
 *   {kind: "signed_out", code, detail}   somebody has to sign in first
 *   {kind: "redirected"}                 something in between wants a sign-in: an access page, a proxy
 *   {kind: "failed", detail}             it could not: try again
 *   {kind: "unreachable", detail}        it never answered: try again
 * `againAfter` is how many seconds the server asked to be left alone, where it did.
 */
const TIMEOUT_MS = 20_000;
const SIGNED_OUT = ["not_authenticated", "authentication_failed", "permission_denied", "other_account"];

/** `account` names who opened the page: the server refuses it under anybody else's session. */
export function createApi(urls, { account = "", timeout = TIMEOUT_MS } = {}) {
  const assignment = (id, path = "") => `${urls.assignments}${id}/${path}`;
  const call = (method, url, body) => request(url, { method, body, account, timeout });
  return {
    next: (holding) => call("POST", urls.next, { holding }),
    protocol: (number) => call("GET", `${urls.protocol}?number=${number}`),
    submit: (id, judgment) => call("POST", assignment(id, "judgment/"), judgment),
    given: (id) => call("GET", assignment(id, "judgment/")),
    revise: (id, judgment) => call("POST", assignment(id, "revisions/"), judgment),
    skip: (id, body) => call("POST", assignment(id, "skip/"), body),
    giveBack: (id) => call("POST", assignment(id, "give-back/"), {}),
    heartbeat: (id) => call("POST", assignment(id, "heartbeat/"), {}),
    assignment: (id) => call("GET", assignment(id)),
    blind: (caseId) => call("GET", `${urls.cases}${caseId}/blind/`),
    judgeBlind: (caseId, judgment) => call("POST", `${urls.cases}${caseId}/blind/`, judgment),
    keepCase: (caseId) => call("POST", `${urls.cases}${caseId}/keep/`, {}),
  };
}

/**
 * What a response means. `problem` is its body, or null where it was not JSON. A refusal counts only in the server's
 * own words: what a proxy says in its place is no decision about a vote, and is tried again.
 */
export function outcomeOf(status, body) {
  const detail = body?.detail ?? `HTTP ${status}`;
  const failed = { kind: "failed", status, detail };
  if (status >= 200 && status < 300) return status === 204 || body !== null ? { kind: "ok", status, body } : failed;
  const code = body?.title ?? "";
  if (status === 401 || (status === 403 && SIGNED_OUT.includes(code))) return { kind: "signed_out", code, detail };
  if (status === 408 || status === 429 || status >= 500 || !code) return failed;
  return { kind: "refused", status, code, detail, errors: body.errors ?? [] };
}

/** Seconds from a Retry-After header: a number of them, or a date. Null where there is none to go by. */
export function secondsFrom(header, now = Date.now()) {
  if (!header) return null;
  const seconds = /^\s*\d+\s*$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : null;
}

/** One call, to its outcome. */
export async function request(url, { method, body, account, timeout = TIMEOUT_MS }) {
  try {
    const response = await fetch(url, {
      method,
      credentials: "same-origin",
      redirect: "manual", // a redirect is no answer: it must never pass for a stored vote
      headers: { Accept: "application/json", "X-Concord-Account": account, ...(body ? writing() : {}) },
      body: body ? JSON.stringify(body) : undefined,
      signal: AbortSignal.timeout(timeout),
    });
    if (response.type === "opaqueredirect") return { kind: "redirected", detail: "" };
    const outcome = outcomeOf(response.status, parse(await response.text()));
    const again = outcome.kind === "failed" ? secondsFrom(response.headers.get("Retry-After")) : null;
    return again === null ? outcome : { ...outcome, againAfter: again };
  } catch (error) {
    return { kind: "unreachable", detail: String(error?.message ?? error) };
  }
}

/** Read the token each time: signing in again, in another tab, changes it. */
function writing() {
  const token = /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";
  return { "Content-Type": "application/json", "X-CSRFToken": token };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
