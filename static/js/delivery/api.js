/**
 * API client: requests to the rating and review API. Each request resolves with an outcome, and none throws:
 *   {kind: "ok", status, body}                the server has done it
 *   {kind: "refused", code, detail, errors}   permanent error: a retry does not help
 *   {kind: "signed_out", code, detail}        the account has to sign in first
 *   {kind: "redirected"}                      an access page or a proxy in between wants a sign-in
 *   {kind: "failed", detail}                  transient error: retry
 *   {kind: "unreachable", detail}             no response: retry
 * `retryAfter` is the Retry-After of the response in seconds, where it has one.
 */
const TIMEOUT_MS = 20_000;
const SIGNED_OUT = ["not_authenticated", "authentication_failed", "permission_denied", "other_account"];

/** `account` names who opened the page: the server refuses it under anybody else's session. */
export function createApi(urls, { account = "", timeout = TIMEOUT_MS } = {}) {
  const assignment = (id, path = "") => `${urls.assignments}${id}/${path}`;
  const call = (method, url, body) => request(url, { method, body, account, timeout });
  return {
    next: (heldIds) => call("POST", urls.next, { holding: heldIds }),
    protocol: (number) => call("GET", `${urls.protocol}?number=${number}`),
    submit: (id, judgment) => call("POST", assignment(id, "judgment/"), judgment),
    submittedAnswers: (id) => call("GET", assignment(id, "judgment/")),
    revise: (id, judgment) => call("POST", assignment(id, "revisions/"), judgment),
    skip: (id, body) => call("POST", assignment(id, "skip/"), body),
    returnAssignment: (id) => call("POST", assignment(id, "give-back/"), {}),
    heartbeat: (id) => call("POST", assignment(id, "heartbeat/"), {}),
    assignment: (id) => call("GET", assignment(id)),
    blindBriefing: (caseId) => call("GET", `${urls.cases}${caseId}/blind/`),
    submitBlind: (caseId, judgment) => call("POST", `${urls.cases}${caseId}/blind/`, judgment),
    extendClaim: (caseId) => call("POST", `${urls.cases}${caseId}/keep/`, {}),
  };
}

/**
 * The outcome of a response; `body` is null where it was not JSON. Only an error with the server's own code is a refusal:
 * an error from a proxy is no decision about a vote, and is retried.
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

/** Seconds of a Retry-After header, which has a number or a date; null without a valid one. */
export function parseRetryAfter(header, now = Date.now()) {
  if (!header) return null;
  const seconds = /^\s*\d+\s*$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : null;
}

/** One request, to its outcome. */
export async function request(url, { method, body, account, timeout = TIMEOUT_MS }) {
  try {
    const response = await fetch(url, {
      method,
      credentials: "same-origin",
      redirect: "manual", // a redirect must never pass for a stored vote
      headers: { Accept: "application/json", "X-Concord-Account": account, ...(body ? writeHeaders() : {}) },
      body: body ? JSON.stringify(body) : undefined,
      signal: AbortSignal.timeout(timeout),
    });
    if (response.type === "opaqueredirect") return { kind: "redirected", detail: "" };
    const outcome = outcomeOf(response.status, parseJson(await response.text()));
    const retryAfter = outcome.kind === "failed" ? parseRetryAfter(response.headers.get("Retry-After")) : null;
    return retryAfter === null ? outcome : { ...outcome, retryAfter };
  } catch (error) {
    return { kind: "unreachable", detail: String(error?.message ?? error) };
  }
}

/** The CSRF token is read for each request: signing in again, in another tab, changes it. */
function writeHeaders() {
  const token = /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";
  return { "Content-Type": "application/json", "X-CSRFToken": token };
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Why a request was not delivered, in a sentence. */
export function failureText(t, { kind, code, detail }) {
  return t(code === "other_account" ? "sending.other_account" : `sending.${kind}`, { detail });
}

/** Why the server refused a request, in a sentence. */
export function refusalText(t, { code, detail }) {
  const text = t(`refused.${code}`, { detail });
  return text === `refused.${code}` ? t("refused.other", { detail }) : text;
}
