/**
 * The rating API. Every call ends in an outcome and none throws:
 *   {kind: "ok", status, body}           the server has done it
 *   {kind: "refused", code, detail, errors}   it will not, and asking again will not help
 *   {kind: "signed_out", detail}         somebody has to sign in first
 *   {kind: "failed", detail}             it could not: try again
 *   {kind: "unreachable", detail}        it never answered: try again
 */
const TIMEOUT_MS = 20_000;
const SIGNED_OUT = ["not_authenticated", "authentication_failed", "permission_denied"];

export function createApi(urls) {
  const assignment = (id, path = "") => `${urls.assignments}${id}/${path}`;
  return {
    next: (holding) => call("POST", urls.next, { holding }),
    protocol: (number) => call("GET", `${urls.protocol}?number=${number}`),
    submit: (id, judgment) => call("POST", assignment(id, "judgment/"), judgment),
    skip: (id, body) => call("POST", assignment(id, "skip/"), body),
    giveBack: (id) => call("POST", assignment(id, "give-back/"), {}),
    heartbeat: (id) => call("POST", assignment(id, "heartbeat/"), {}),
    clip: (id, name) => assignment(id, `clips/${name}/`),
  };
}

/** What a response means. `problem` is its body, or null where it was not JSON (a proxy's page, say). */
export function outcomeOf(status, body) {
  if (status >= 200 && status < 300) return { kind: "ok", status, body };
  const code = body?.title ?? "";
  const detail = body?.detail ?? `HTTP ${status}`;
  if (status === 401 || (status === 403 && SIGNED_OUT.includes(code))) return { kind: "signed_out", detail };
  if (status === 408 || status === 429 || status >= 500) return { kind: "failed", status, detail };
  return { kind: "refused", status, code, detail, errors: body?.errors ?? [] };
}

async function call(method, url, body) {
  try {
    const response = await fetch(url, {
      method,
      credentials: "same-origin",
      redirect: "error", // a redirect is no answer: it must never pass for a stored vote
      headers: { Accept: "application/json", ...(body ? writing() : {}) },
      body: body ? JSON.stringify(body) : undefined,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    const parsed = parse(text);
    if (response.ok && text && parsed === null) return { kind: "failed", status: response.status, detail: "" };
    return outcomeOf(response.status, parsed);
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
