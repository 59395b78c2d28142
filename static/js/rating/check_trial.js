/** Trial of a listening check: a sound to play, and the choices to answer with once it was heard. */
import { h, uniqueId } from "../page/dom.js";
import { CHECK_TEXTS } from "./check_texts.js";

/** `sound()` promises the trial's bytes; `onHeard()` follows each end of the sound, `onChoice(choice)` comes once. */
export function createTrial({ kind, intervals, nChoices, sound, onHeard, onChoice, onFailed }) {
  const isLevel = kind === "level";
  const player = createCheckPlayer({ onInterval: showInterval, onEnded: onSoundEnded });
  const play = h("button", { type: "button", class: "button primary big check-play", onclick: toggle });
  const choices = Array.from({ length: nChoices }, (_, choice) =>
    h(
      "button",
      { type: "button", class: "button big check-choice", disabled: true, onclick: () => submitChoice(choice) },
      CHECK_TEXTS[kind].choices[choice],
    ),
  );
  const questionText = h("p", { class: "check-ask", id: uniqueId("ask") }, CHECK_TEXTS[kind].ask);
  const element = h(
    "div",
    { class: "check-trial", onkeydown: onKeydown },
    play,
    questionText,
    h("div", { class: "check-choices", role: "group", "aria-labelledby": questionText.id }, choices),
  );
  let wasHeard = false;

  function show() {
    play.textContent = CHECK_TEXTS[kind][player.playing ? "stop" : wasHeard ? "again" : "play"];
  }

  function showInterval(interval) {
    if (!isLevel) choices.forEach((button, n) => button.classList.toggle("sounding", nChoices > 2 && n === interval));
    if (isLevel && interval !== null) enableChoices();
    show();
  }

  function enableChoices() {
    wasHeard = true;
    for (const button of choices) button.disabled = false;
    play.classList.remove("primary");
    if (isLevel) choices[0].classList.add("primary");
  }

  function onSoundEnded() {
    enableChoices();
    show();
    onHeard();
  }

  /** Only while the focus is here: the page has no keys of its own. */
  function onKeydown({ key, ctrlKey, metaKey, altKey }) {
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

  function submitChoice(choice) {
    player.stop();
    for (const button of [play, ...choices]) button.disabled = true;
    onChoice(choice);
  }

  show();
  return { element, focus: () => play.focus(), dispose: player.stop };
}

const FADE_S = 0.02;

/**
 * Plays the sounds of listening checks, one at a time and at no more than their own level. `onInterval(n)` follows the
 * interval that plays (null between them), `onEnded()` the end of a sound.
 */
function createCheckPlayer({ onInterval = () => {}, onEnded = () => {} } = {}) {
  let context = null;
  let playing = null;

  /** Call it in a key press or a click (autoplay policy). `bytes` is a promise of a FLAC file. */
  async function play(bytes, { intervals, loop = false }) {
    stop();
    context ??= new AudioContext({ sampleRate: 48_000 });
    const playback = (playing = { source: null, fade: null, frame: 0 });
    await context.resume();
    const buffer = await context.decodeAudioData((await bytes).slice(0));
    if (playing !== playback) return;
    playback.fade = new GainNode(context, { gain: 0 });
    playback.source = new AudioBufferSourceNode(context, { buffer, loop });
    playback.source.connect(playback.fade).connect(context.destination);
    const startTime = context.currentTime + 0.05;
    playback.fade.gain.setValueAtTime(0, startTime);
    playback.fade.gain.linearRampToValueAtTime(1, startTime + FADE_S);
    playback.source.onended = () => {
      if (playing !== playback) return;
      stop();
      onEnded();
    };
    playback.source.start(startTime);
    followIntervals(playback, startTime, intervals);
  }

  function followIntervals(playback, startTime, intervals) {
    let lastInterval = null;
    const update = () => {
      if (playing !== playback) return;
      const at = context.currentTime - startTime;
      const now = intervals.findIndex(([from, to]) => at >= from && at < to);
      if (now !== lastInterval) onInterval((lastInterval = now) < 0 ? null : now);
      playback.frame = requestAnimationFrame(update);
    };
    update();
  }

  function stop() {
    const stopped = playing;
    playing = null;
    if (!stopped) return;
    cancelAnimationFrame(stopped.frame);
    onInterval(null);
    if (!stopped.source) return;
    stopped.fade.gain.cancelScheduledValues(context.currentTime);
    stopped.fade.gain.setTargetAtTime(0, context.currentTime, FADE_S / 3);
    stopped.source.stop(context.currentTime + 2 * FADE_S);
  }

  return {
    play,
    stop,
    get playing() {
      return playing !== null;
    },
  };
}
