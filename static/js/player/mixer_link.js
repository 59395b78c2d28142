/**
 * Between one task's player and the page's mixer: orders go out numbered, reports come in told apart.
 * A report from before the latest order says what was heard, but nothing of how things stand now.
 */
export function linkMixer({ engine, loader, clips, fadeMs, onReport, onFailed, onIdle }) {
  let latest = Infinity;
  const order = (name, facts, transfer) => (latest = engine.order(name, facts, transfer));
  const first = engine.order("pause") + 1; // what was reported before is of the task before

  engine.attach((report) => report.ticket >= first && onReport(report, { isCurrent: report.ticket >= latest }));
  const voices = clips.map(({ name, group, samples, gain_db }) => {
    return { name, group, frames: samples, gain: 10 ** ((gain_db ?? 0) / 20) };
  });
  order("reset", { clips: voices, fadeMs });

  return {
    order,
    /** Now parts may come: what is there, and what is on its way. */
    open() {
      const sink = {
        put: (part) => engine.order("put", part, part.channels.map(({ buffer }) => buffer)),
        drop: (part) => engine.order("drop", part),
      };
      loader.connect(sink, { onFailed, onIdle });
      engine.ready.catch((error) => clips.forEach(({ name }) => onFailed(name, error)));
    },
  };
}
