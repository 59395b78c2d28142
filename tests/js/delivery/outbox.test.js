import assert from "node:assert/strict";
import test from "node:test";
import { createSender } from "../../../static/js/delivery/sender.js";
import { createOutbox, memoryStore, withMemoryCopy } from "../../../static/js/delivery/outbox.js";

const vote = (id, fields = {}) => ({ id, study: "s", assignmentId: `of ${id}`, kind: "judgment", body: { client_id: id }, ...fields });
const stored = (entry) => ({ kind: "ok", status: 201, body: { client_id: entry.id } });
const OFFLINE = { kind: "unreachable", detail: "" };

/** Runs one piece of work after the other, as the lock manager of a browser does for its tabs. */
function createLock() {
  let last = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };
}

/** A page of an account over a store; `sent` lists what reached the server, which answers with `answer(entry)`. */
function page({ store = memoryStore(), account = "ada", respond = stored, withLock = createLock(), now = () => 1000 } = {}) {
  const sent = [];
  const send = async (entry) => {
    sent.push(entry.id);
    return respond(entry);
  };
  return { outbox: createOutbox({ store, account, send, withLock, now }), sent, store };
}

const ids = (entries) => entries.map(({ id }) => id);

test("a vote is written before it is sent, and gone when the server has it", async () => {
  const { outbox, sent, store } = page();
  await outbox.add(vote("one"));
  assert.deepEqual(ids(await store.all()), ["one"]);
  assert.deepEqual(sent, []);
  assert.equal((await outbox.sendNext()).outcome.kind, "ok");
  assert.deepEqual(await store.all(), []);
  assert.equal(await outbox.sendNext(), null);
});

test("votes go in the order they were given, also when the clock was set back", async () => {
  let time = 5000;
  const { outbox, sent } = page({ now: () => (time -= 1000) });
  for (const id of ["one", "two", "three"]) await outbox.add(vote(id));
  while (await outbox.sendNext());
  assert.deepEqual(sent, ["one", "two", "three"]);
});

test("what cannot be sent stays first, with why and how often it was tried", async () => {
  const { outbox, sent } = page({ respond: () => OFFLINE });
  await outbox.add(vote("one"));
  await outbox.add(vote("two"));
  await outbox.sendNext();
  await outbox.sendNext();
  const [first] = await outbox.pending();
  assert.deepEqual(sent, ["one", "one"]);
  assert.deepEqual([first.id, first.tries, first.lastError.kind], ["one", 2, "unreachable"]);
});

test("a yes that does not name the vote is no yes", async () => {
  for (const body of [null, {}, { client_id: "another" }]) {
    const { outbox } = page({ respond: () => ({ kind: "ok", status: 200, body }) });
    await outbox.add(vote("one"));
    assert.equal((await outbox.sendNext()).outcome.kind, "failed");
    assert.deepEqual(ids(await outbox.pending()), ["one"]);
  }
});

test("a refused vote stays until its rater has read why, and holds up nobody", async () => {
  const refused = { kind: "refused", code: "skipped", detail: "", errors: [] };
  const { outbox, sent } = page({ respond: (entry) => (entry.id === "one" ? refused : stored(entry)) });
  await outbox.add(vote("one"));
  await outbox.add(vote("two"));
  while (await outbox.sendNext());
  assert.deepEqual(sent, ["one", "two"]);
  assert.deepEqual((await outbox.pending()).map(({ refusal }) => refusal.code), ["skipped"]);
  await outbox.remove("one");
  assert.deepEqual(await outbox.pending(), []);
});

test("a refused vote that was mended is sent again in its own place", async () => {
  const responses = [{ kind: "refused", code: "invalid", detail: "", errors: [] }];
  const { outbox, sent } = page({ respond: (entry) => responses.shift() ?? stored(entry) });
  await outbox.add(vote("one"));
  await outbox.sendNext();
  await outbox.remove("one");
  await outbox.add(vote("one", { body: { client_id: "one", answers: ["corrected"] } }));
  assert.equal((await outbox.sendNext()).outcome.kind, "ok");
  assert.deepEqual(sent, ["one", "one"]);
});

test("votes of another account are counted and never sent", async () => {
  const store = memoryStore();
  await page({ store, account: "ben" }).outbox.add(vote("bens"));
  const ada = page({ store });
  await ada.outbox.add(vote("adas"));
  while (await ada.outbox.sendNext());
  assert.deepEqual(ada.sent, ["adas"]);
  assert.equal(await ada.outbox.pendingOfOthers(), 1);
  const ben = page({ store, account: "ben" });
  await ben.outbox.sendNext();
  assert.deepEqual(ben.sent, ["bens"]);
});

test("two tabs that empty one store at the same time send each vote once", async () => {
  const store = memoryStore();
  const withLock = createLock();
  const slowly = (entry) => new Promise((resolve) => setTimeout(() => resolve(stored(entry)), 2));
  const tabs = [1, 2].map(() => page({ store, withLock, respond: slowly }));
  for (const id of ["one", "two", "three"]) await tabs[0].outbox.add(vote(id));
  await Promise.all(tabs.map(async ({ outbox }) => {
    while (await outbox.sendNext());
  }));
  assert.deepEqual([...tabs[0].sent, ...tabs[1].sent].sort(), ["one", "three", "two"]);
});

test("two tabs without turns would send a vote twice: the lock is what prevents it", async () => {
  const store = memoryStore();
  const slowly = (entry) => new Promise((resolve) => setTimeout(() => resolve(stored(entry)), 2));
  const tabs = [1, 2].map(() => page({ store, withLock: (work) => work(), respond: slowly }));
  await tabs[0].outbox.add(vote("one"));
  await Promise.all(tabs.map(({ outbox }) => outbox.sendNext()));
  assert.equal(tabs[0].sent.length + tabs[1].sent.length, 2);
});

test("a vote can be taken back until it is sent", async () => {
  const { outbox, sent } = page();
  await outbox.add(vote("one"));
  assert.equal(await outbox.withdraw("one"), true);
  assert.equal(await outbox.sendNext(), null);
  assert.equal(await outbox.withdraw("one"), false);
  assert.deepEqual(sent, []);
});

test("a page that comes after a crash finds what was left", async () => {
  const store = memoryStore();
  await page({ store, respond: () => OFFLINE }).outbox.add(vote("one"));
  const later = page({ store });
  await later.outbox.sendNext();
  assert.deepEqual(later.sent, ["one"]);
  assert.deepEqual(await store.all(), []);
});

// ── A vote that nothing waits before ─────────────────────────────────────────

/** A store whose writes take until `release()`. */
function slowStore() {
  const store = memoryStore();
  let release;
  const released = new Promise((resolve) => (release = resolve));
  return { ...store, put: (entry) => released.then(() => store.put(entry)), release };
}

test("where nothing waits, a vote goes while it is written, and is gone once both are done", async () => {
  const store = slowStore();
  const { outbox, sent } = page({ store });
  assert.equal(await outbox.sendNext(), null);
  const writing = outbox.add(vote("one"));
  assert.equal((await outbox.sendNext()).outcome.kind, "ok");
  assert.deepEqual(sent, ["one"]);
  store.release();
  await writing;
  assert.equal(await outbox.sendNext(), null);
  assert.deepEqual([await store.all(), sent], [[], ["one"]]);
});

test("one that does not arrive is in the store, with why, before anybody hears of it", async () => {
  const store = slowStore();
  const { outbox } = page({ store, respond: () => OFFLINE });
  await outbox.sendNext();
  outbox.add(vote("one"));
  const attempted = outbox.sendNext();
  store.release();
  assert.equal((await attempted).outcome.kind, "unreachable");
  const [{ id, tries, lastError }] = await store.all();
  assert.deepEqual([id, tries, lastError.kind], ["one", 1, "unreachable"]);
});

test("a vote added while another waits goes after it, and so does one after an attempt that failed", async () => {
  const responses = [OFFLINE, OFFLINE];
  const { outbox, sent } = page({ respond: (entry) => responses.shift() ?? stored(entry) });
  await outbox.sendNext();
  await outbox.add(vote("one"));
  await outbox.sendNext();
  await outbox.add(vote("two"));
  while (await outbox.sendNext());
  assert.deepEqual(sent, ["one", "one", "one", "two"]);
});

test("one taken back before it goes does not go", async () => {
  const { outbox, sent } = page();
  await outbox.sendNext();
  outbox.add(vote("one"));
  assert.equal(await outbox.withdraw("one"), true);
  assert.equal(await outbox.sendNext(), null);
  assert.deepEqual(sent, []);
});

test("a page that ends before its vote is removed sends the same vote again, which the server has", async () => {
  const store = slowStore();
  const { outbox } = page({ store });
  await outbox.sendNext();
  outbox.add(vote("one"));
  await outbox.sendNext();
  store.release();
  const left = { ...memoryStore(), all: async () => [{ ...vote("one"), account: "ada", createdAt: 1, tries: 0, refusal: null }] };
  const later = page({ store: left });
  assert.equal((await later.outbox.sendNext()).outcome.body.client_id, "one");
});

// ── A store that fails ───────────────────────────────────────────────────────

const broken = () => {
  const fail = () => Promise.reject(new Error("QuotaExceededError"));
  return { all: fail, put: fail, update: fail, remove: fail };
};

test("without a store that keeps anything votes go all the same, and the page is told", async () => {
  let unsafe = 0;
  const { outbox, sent } = page({ store: withMemoryCopy(broken(), { onFailure: () => (unsafe += 1) }) });
  await outbox.add(vote("one"));
  assert.ok(unsafe > 0);
  assert.equal((await outbox.sendNext()).outcome.kind, "ok");
  assert.equal(await outbox.sendNext(), null);
  assert.deepEqual(sent, ["one"]);
});

test("a store that cannot forget does not make a vote go twice", async () => {
  const store = { ...memoryStore(), remove: () => Promise.reject(new Error("gone")) };
  const { outbox, sent } = page({ store: withMemoryCopy(store, { onFailure() {} }) });
  await outbox.add(vote("one"));
  await outbox.sendNext();
  assert.equal(await outbox.sendNext(), null);
  assert.deepEqual(sent, ["one"]);
});

test("a store that loses a vote does not lose it for this page", async () => {
  const store = memoryStore();
  const { outbox, sent } = page({ store: withMemoryCopy(store, { onFailure() {} }) });
  await outbox.add(vote("one"));
  await store.remove("one"); // the browser's data were cleared
  await outbox.sendNext();
  assert.deepEqual(sent, ["one"]);
});

// ── Ten minutes without network ──────────────────────────────────────────────

test("ten minutes without network: pauses grow to half a minute, every vote arrives once and in order", async () => {
  let seconds = 0;
  const server = [];
  const respond = (entry) => (seconds < 600 ? OFFLINE : (server.push(entry.id), stored(entry)));
  const { outbox, sent } = page({ respond });
  const pauses = [];
  const sender = createSender({
    outbox,
    onWaiting: () => {},
    onSettled: () => {},
    random: () => 1,
    wait: async (length) => {
      pauses.push(length);
      seconds += length;
    },
  });
  for (const id of ["one", "two", "three"]) await outbox.add(vote(id));
  await sender.drain();
  assert.deepEqual(server, ["one", "two", "three"]);
  assert.deepEqual(pauses.slice(0, 6), [2, 4, 8, 16, 30, 30]);
  assert.ok(seconds < 640, `the network was back for ${seconds - 600} s before they went`);
  assert.ok(sent.length < 30, "a page that waits is quiet");
});

// ── Upgrades ─────────────────────────────────────────────────────────────────

test("an entry that an earlier version of this page stored is sent as it is", async () => {
  const entry = {
    ...{ id: "one", account: "ada", study: "s", assignmentId: "a", kind: "judgment", body: { client_id: "one" } },
    ...{ createdAt: 1, tries: 3, lastError: { kind: "failed", detail: "", againAfter: 9 }, refusal: null },
  };
  const store = memoryStore();
  await store.put(entry);
  const { outbox, sent } = page({ store });
  assert.deepEqual(await outbox.pending(), [entry]);
  assert.equal((await outbox.sendNext()).outcome.kind, "ok");
  assert.deepEqual(sent, ["one"]);
});
