import assert from "node:assert/strict";
import test from "node:test";
import { createApi, outcomeOf } from "../../static/js/api.js";

const kind = (status, title) => outcomeOf(status, { title, detail: "A sentence." }).kind;

test("only a 2xx is a yes", () => {
  assert.equal(kind(201), "ok");
  for (const status of [301, 400, 404, 409, 413, 422]) assert.equal(kind(status, "invalid"), "refused");
});

test("what may pass by itself is tried again", () => {
  for (const status of [408, 429, 500, 502, 503, 504]) assert.equal(kind(status, "error"), "failed");
});

test("a session that is over is told from something that is not allowed", () => {
  assert.equal(kind(401, "anything"), "signed_out");
  assert.equal(kind(403, "not_authenticated"), "signed_out");
  assert.equal(kind(403, "permission_denied"), "signed_out"); // the token of a session that another tab replaced
  assert.equal(kind(403, "not_allowed"), "refused");
});

test("a refusal keeps its code, its sentence and its fields", () => {
  const errors = [{ field: "answers[0].value", message: "Give a number." }];
  const body = { title: "invalid", detail: "This answer is not complete.", errors };
  const { code, detail, errors: kept } = outcomeOf(400, body);
  assert.deepEqual({ code, detail, errors: kept }, { code: "invalid", detail: body.detail, errors });
});

test("an error page that is no JSON still says its status", () => {
  assert.deepEqual(outcomeOf(502, null), { kind: "failed", status: 502, detail: "HTTP 502" });
});

/** Run `work` with fetch and cookies as given. */
async function withFetch(fetch, work) {
  const before = { fetch: globalThis.fetch, document: globalThis.document };
  Object.assign(globalThis, { fetch, document: { cookie: "sessionid=x; csrftoken=abc" } });
  try {
    return await work(createApi({ next: "/next/", protocol: "/protocol/", assignments: "/assignments/" }));
  } finally {
    Object.assign(globalThis, before);
  }
}

test("a network failure is an outcome, not an exception", async () => {
  const outcome = await withFetch(() => Promise.reject(new TypeError("Failed to fetch")), (api) => api.next([]));
  assert.equal(outcome.kind, "unreachable");
});

test("a page of HTML with status 200 is no stored vote", async () => {
  const html = async () => new Response("<html>Welcome to the hotel network</html>", { status: 200 });
  assert.equal((await withFetch(html, (api) => api.submit("id", {}))).kind, "failed");
});

test("every write carries the token of now", async () => {
  let sent;
  const fetch = async (url, options) => {
    sent = { url, ...options };
    return new Response(null, { status: 204 });
  };
  const outcome = await withFetch(fetch, (api) => api.skip("id", { reason: "audio" }));
  assert.equal(outcome.kind, "ok");
  assert.equal(sent.url, "/assignments/id/skip/");
  assert.equal(sent.headers["X-CSRFToken"], "abc");
  assert.equal(sent.redirect, "error");
});
