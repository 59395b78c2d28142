/** What was heard, as it travels with the vote. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { createListeningLog, mergeSpans } from "../../../static/js/player/listening_log.js";

test("what is heard twice counts once", () => {
  const log = createListeningLog({ now: () => 0 });
  log.addSpan("a", 0, 5);
  log.addSpan("a", 3, 8);
  log.addSpan("a", 20, 21);
  log.addSpan("b", 1, 2);
  assert.deepEqual(log.heard("a"), [[0, 8], [20, 21]]);
  assert.equal(log.heardSeconds("a"), 9);
  assert.equal(log.heardSeconds("c"), 0);
});

test("stretches that touch become one", () => {
  assert.deepEqual(mergeSpans([[5, 6], [0, 1], [1, 2]]), [[0, 2], [5, 6]]);
});

test("muted and hidden time is counted once, however often it is said", () => {
  let now = 0;
  const log = createListeningLog({ now: () => now });
  log.setState("muted", true);
  now = 2;
  log.setState("muted", true);
  now = 3;
  log.setState("muted", false);
  log.setState("muted", false);
  log.setState("hidden", true);
  now = 4.5;
  const { muted_s, hidden_s, shown_s } = log.toJSON();
  assert.deepEqual([muted_s, hidden_s, shown_s], [3, 1.5, 4.5]);
});

test("however much was heard in however small pieces, the log fits, understates and says so", () => {
  const log = createListeningLog({ now: () => 0 });
  let played = 0;
  for (let i = 0; i < 900; i += 1) {
    const from = 900 + i + i / 1000;
    const length = 0.5 + (i % 7) / 100;
    log.addSpan(i % 2 ? "a" : "reference", from, from + length);
    played += length;
  }
  const json = log.toJSON({ latency_ms: 1234, session_s: 12345 });
  assert.ok(JSON.stringify(json).length <= 4096, `${JSON.stringify(json).length}`);
  assert.deepEqual([json.dropped, json.heard.a.length + json.heard.reference.length], [740, 160]);
  const sent = Object.values(json.heard).flat().reduce((sum, [from, to]) => sum + to - from, 0);
  assert.ok(sent < played);
  // The page's own sums are those of the log: it promises nothing that the server would not find.
  assert.ok(Math.abs(log.heardSeconds("a") + log.heardSeconds("reference") - sent) < 160 * 0.01);
});

test("dragging through a clip while it plays leaves what is heard afterwards whole", () => {
  const log = createListeningLog({ now: () => 0 });
  for (let i = 0; i < 400; i += 1) log.addSpan("a", 100 + i, 100 + i + 0.03);
  for (let i = 0; i < 300; i += 1) log.addSpan("a", i * 0.032, (i + 1) * 0.032);
  const [first] = log.heard("a");
  assert.ok(first[0] === 0 && Math.abs(first[1] - 9.6) < 1e-9);
});

test("the lowest and the highest volume are kept", () => {
  const log = createListeningLog({ now: () => 0 });
  for (const value of [0.5, 0.2, 0.9]) log.volume(value);
  assert.deepEqual(log.toJSON().volume, [0.2, 1]);
});
