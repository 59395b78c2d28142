/** One trial of a listening check: a sound to play and the answers to choose from, once it was heard. */
import { h, uniqueId } from "../page/dom.js";

/** `sound()` promises the trial's bytes; `onHeard()` follows each time it ended, `onChoice(choice)` comes once. */
export function createTrial({ kind, intervals, nChoices, sound, t, onHeard, onChoice, onFailed }) {
  const isLevel = kind === "level";
  const player = createCheckPlayer({ onInterval: light, onEnded: ended });
  const play = h("button", { type: "button", class: "button primary big check-play", onclick: toggle });
  const choices = Array.from({ length: nChoices }, (_, choice) =>
    h(
      "button",
      { type: "button", class: "button big check-choice", disabled: true, onclick: () => choose(choice) },
      t(`check.${kind}.choice.${choice}`),
    ),
  );
  const ask = h("p", { class: "check-ask", id: uniqueId("ask") }, t(`check.${kind}.ask`));
  const element = h(
    "div",
    { class: "check-trial", onkeydown: byDigit },
    play,
    ask,
    h("div", { class: "check-choices", role: "group", "aria-labelledby": ask.id }, choices),
  );
  let heard = false;

  function show() {
    play.textContent = t(player.playing ? `check.${kind}.stop` : heard ? `check.${kind}.again` : `check.${kind}.play`);
  }

  function light(interval) {
    if (!isLevel) choices.forEach((button, n) => button.classList.toggle("sounding", nChoices > 2 && n === interval));
    if (isLevel && interval !== null) ready();
    show();
  }

  function ready() {
    heard = true;
    for (const button of choices) button.disabled = false;
    play.classList.remove("primary");
    if (isLevel) choices[0].classList.add("primary");
  }

  function ended() {
    ready();
    show();
    onHeard();
  }

  /** Only while the focus is here: the page has no keys of its own. */
  function byDigit({ key, ctrlKey, metaKey, altKey }) {
    if (!ctrlKey && !metaKey && !altKey && nChoices > 1) choices[Number(key) - 1]?.click();
  }

  async function toggle() {
    if (player.playing) return player.stop();
    try {
      const started = player.play(sound(), { intervals, loop: isLevel });
      show();
      await started;
    } catch {
      player.stop();
      onFailed();
    }
  }

  function choose(choice) {
    player.stop();
    for (const button of [play, ...choices]) button.disabled = true;
    onChoice(choice);
  }

  show();
  return { element, focus: () => play.focus(), dispose: player.stop };
}

/**
 * Plays the sounds of listening checks, one at a time and never louder than they are.
 * `onInterval(n)` tells which interval sounds (null in the rests), `onEnded()` that a sound was heard to its end.
 */
const FADE_S = 0.02;

function createCheckPlayer({ onInterval = () => {}, onEnded = () => {} } = {}) {
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
