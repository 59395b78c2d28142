/**
 * The sound of tasks to come: the first parts of their clips, fetched and decoded while the rater is at work, so that
 * the next task sounds at once. Nothing is fetched ahead before the task at hand has what it needs.
 */
import { createLoader, readRange } from "./clip_loader.js";
import { createDecoder } from "./engine.js";

const AHEAD_PARTS = 2; // 4.8 s: the rest comes faster than it plays

/** `api.assignment(id)` gives a task's briefing again, with links that have not ended. */
export function createShelf({ api, decode = createDecoder(), read = readRange }) {
  const waiting = new Map();

  function make(assignment, limit) {
    const renew = async () => {
      const outcome = await api.assignment(assignment.id);
      if (outcome.kind !== "ok") throw Object.assign(new Error(outcome.detail), { status: 403 });
      return Object.fromEntries(clipsOf(outcome.body).map(({ name, url }) => [name, url]));
    };
    return createLoader({ clips: clipsOf(assignment), read, decode, renew, limit });
  }

  return {
    /** The loader of the task now shown; what was fetched ahead is in it. */
    take(assignment) {
      const ready = waiting.get(assignment.id);
      waiting.delete(assignment.id);
      return ready ?? make(assignment, Infinity);
    },
    /** A task that comes after this one. */
    prepare(assignment) {
      if (!waiting.has(assignment.id)) waiting.set(assignment.id, make(assignment, AHEAD_PARTS));
    },
    /** The task at hand has what it needs: go on with those to come, one after the other. */
    fill() {
      const [first, ...rest] = waiting.values();
      if (!first) return;
      first.onIdle(() => rest.forEach((loader) => loader.start()));
      first.start();
    },
    /** Its lease is lost. */
    drop(id) {
      waiting.get(id)?.close();
      waiting.delete(id);
    },
  };
}

/** The clips of a briefing, as player and loader take them. */
/**
 * Clips that are versions of one thing share their place and are switched between: a task's candidates, and in a panel
 * the reference that they are compared with. Any other clip has a place of its own. A recording beside text answers is
 * fetched only when somebody wants to hear it.
 */
export function clipsOf({ content, candidates }) {
  const judged = candidates.filter(({ clip }) => clip).map(({ clip }) => clip);
  const given = content.filter(({ clip }) => clip).map(({ clip }) => clip);
  const isPanel = judged.length > 2;
  return [
    ...given.map((clip) => ({ ...clip, group: isPanel ? "candidates" : clip.name, switches: false, eager: judged.length > 0 })),
    ...judged.map((clip) => ({ ...clip, group: "candidates", switches: true, eager: true })),
  ];
}
