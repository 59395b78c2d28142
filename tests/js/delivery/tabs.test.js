import assert from "node:assert/strict";
import test from "node:test";
import { storageLock, tabLock } from "../../../static/js/delivery/tabs.js";

function fakeStorage() {
  const items = new Map();
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  };
}

const soon = () => new Promise((resolve) => setTimeout(resolve));

/** Two tabs that write down when their work begins and ends. */
function tabs(makeTab) {
  const log = [];
  const work = (name) => async () => {
    log.push(`${name} begins`);
    await soon();
    log.push(`${name} ends`);
  };
  return { log, run: () => Promise.all(["one", "two"].map((name) => makeTab()(work(name)))) };
}

test("without a lock manager the work of two tabs still does not overlap", async () => {
  const storage = fakeStorage();
  const { log, run } = tabs(() => storageLock("outbox", storage, { wait: soon }));
  await run();
  assert.deepEqual(log, ["one begins", "one ends", "two begins", "two ends"]);
});

test("the record of a tab that died expires", async () => {
  const storage = fakeStorage();
  let time = 0;
  const options = { now: () => time, wait: async () => (time += 1000) };
  storageLock("outbox", storage, options)(() => new Promise(() => {})); // never ends
  await soon();
  await storageLock("outbox", storage, options)(async () => {});
  assert.ok(time >= 25_000);
});

test("work that fails frees the way and says so", async () => {
  const withLock = storageLock("outbox", fakeStorage());
  await assert.rejects(withLock(() => Promise.reject(new Error("no"))));
  assert.equal(await withLock(async () => "done"), "done");
});

test("without storage a page works alone", async () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  const withLock = storageLock("outbox", { getItem: refuse, setItem: refuse, removeItem: refuse });
  assert.equal(await withLock(async () => "done"), "done");
});

test("the browser's own lock is taken where there is one", async () => {
  const requested = [];
  const locks = { request: (name, work) => requested.push(name) && work() };
  assert.equal(await tabLock("outbox", { locks })(async () => "done"), "done");
  assert.deepEqual(requested, ["outbox"]);
});
