/**
 * Plays the sounds of listening checks, one at a time and never louder than they are.
 * `onInterval(n)` tells which interval sounds (null in the rests), `onEnded()` that a sound was heard to its end.
 */
const FADE_S = 0.02;

export function createCheckPlayer({ onInterval = () => {}, onEnded = () => {} } = {}) {
  let context = null;
  let playing = null;

  /** Call it in a key press or a click: browsers let pages sound only then. `bytes` is a promise of a FLAC file. */
  async function play(bytes, { intervals, loop = false }) {
    stop();
    context ??= new AudioContext({ sampleRate: 48_000 });
    const mine = (playing = { source: null, fade: null, frame: 0 });
    await context.resume();
    const buffer = await context.decodeAudioData((await bytes).slice(0));
    if (playing !== mine) return;
    mine.fade = new GainNode(context, { gain: 0 });
    mine.source = new AudioBufferSourceNode(context, { buffer, loop });
    mine.source.connect(mine.fade).connect(context.destination);
    const begin = context.currentTime + 0.05;
    mine.fade.gain.setValueAtTime(0, begin);
    mine.fade.gain.linearRampToValueAtTime(1, begin + FADE_S);
    mine.source.onended = () => {
      if (playing !== mine) return;
      stop();
      onEnded();
    };
    mine.source.start(begin);
    follow(mine, begin, intervals);
  }

  function follow(mine, begin, intervals) {
    let told = null;
    const look = () => {
      if (playing !== mine) return;
      const at = context.currentTime - begin;
      const now = intervals.findIndex(([from, to]) => at >= from && at < to);
      if (now !== told) onInterval((told = now) < 0 ? null : now);
      mine.frame = requestAnimationFrame(look);
    };
    look();
  }

  function stop() {
    const was = playing;
    playing = null;
    if (!was) return;
    cancelAnimationFrame(was.frame);
    onInterval(null);
    if (!was.source) return;
    was.fade.gain.cancelScheduledValues(context.currentTime);
    was.fade.gain.setTargetAtTime(0, context.currentTime, FADE_S / 3);
    was.source.stop(context.currentTime + 2 * FADE_S);
  }

  return {
    play,
    stop,
    get playing() {
      return playing !== null;
    },
  };
}
