/**
 * Mixer: renders audio sample by sample, one clip at a time, from decoded parts, with a crossfade between clips and one
 * media position for clips that belong together. Runs on the audio thread (player_worklet.js) and in tests; knows no
 * browser.
 *
 * A *voice* is a clip: {name, group, frames, gain}. Voices of one group share their position. A *reader* plays a voice
 * from a frame on while its envelope follows a raised cosine up or down; switching starts a reader at the very frame
 * where the old one is, so that the place is kept to the sample and the two always add up to one.
 */

// Gain smoothing: the share of the way to a new volume, per sample at 48 kHz; 10 ms to two thirds of it.
const VOLUME_STEP = 1 / 480;

/** Amplitudes from 0 to 1 along a raised cosine; rising and falling of one length add up to 1 at every sample. */
function raisedCosine(frames) {
  if (!frames) return new Float32Array([1]);
  return Float32Array.from({ length: frames + 1 }, (_, i) => 0.5 - 0.5 * Math.cos((Math.PI * i) / frames));
}

/** A gain that glides to where it is set: a jump would click. */
function createVolume() {
  let level = 1;
  let target = 1;
  return {
    set: (value) => (target = value),
    apply(left, right) {
      if (level === 1 && target === 1) return;
      for (let i = 0; i < left.length; i += 1) {
        level += (target - level) * VOLUME_STEP;
        left[i] *= level;
        right[i] *= level;
      }
      if (Math.abs(target - level) < 1e-5) level = target;
    },
  };
}

export const RATE = 48_000;
export const PART_FRAMES = 115_200;
export const SHORTEST_LOOP_S = 0.5;

// A clip with less left begins again: the last hundredths of a second would sound like nothing.
const restTooShort = (frames) => Math.min(RATE / 10, frames / 20);

// After a buffer underrun, go on when this much is loaded: going on too early would stutter.
const RESUME_FRAMES = RATE / 5;

export function createMixer({ onEnded = () => {} } = {}) {
  const voices = new Map();
  const positions = new Map();
  const heardSpans = [];
  const atEnd = new Set(); // groups that have played to the end of a clip, until somebody seeks
  let readers = [];
  let current = null;
  let active = null; // the reader that is not fading out
  let buffering = false; // waits for data
  let playing = false;
  let loop = null;
  let audible = true;
  let fade = raisedCosine(0);
  const volume = createVolume();

  const isSounding = (reader) => reader.rising || reader.level > 0;
  const positionOf = (voice) => positions.get(voice.group) ?? 0;
  const loopEnd = (voice) => Math.min(loop[1], voice.frames);
  const loops = (voice) => loop !== null && loop[0] < loopEnd(voice);

  function startReader(voice, frame) {
    buffering = false;
    // Back again before the fade was over: it turns round, so that the two still add up to one.
    active = readers.find((reader) => reader.voice === voice && reader.frame === frame) ?? null;
    if (!active) {
      // The very beginning of a clip is left as it was made: fading it in would blunt it.
      active = { voice, frame, level: readers.length || frame ? 0 : fade.length - 1 };
      readers.push(active);
    }
    active.rising = true;
  }

  function fadeOutActive() {
    if (active) active.rising = false;
    active = null;
    readers = readers.filter(isSounding);
  }

  /** Whoever plays a clip hears it: where its place is past its end, or another clip of its group has ended, from its start. */
  function rewindAtEnd(voice) {
    const isOver = atEnd.delete(voice.group) || voice.frames - positionOf(voice) <= restTooShort(voice.frames);
    if (isOver) positions.set(voice.group, 0);
  }

  /** Render `current` from its position, or report that it has ended before. */
  function soundCurrent() {
    fadeOutActive();
    const voice = voices.get(current);
    const frame = positionOf(voice);
    if (frame >= voice.frames) return finish(voice);
    if (hasFrames(voice, frame, Math.min(RESUME_FRAMES, voice.frames - frame))) startReader(voice, frame);
    else buffering = true;
  }

  function finish(voice) {
    playing = false;
    buffering = false;
    fadeOutActive();
    atEnd.add(voice.group);
    onEnded(voice.name);
  }

  function hasFrames(voice, frame, frames) {
    const last = Math.floor((frame + frames - 1) / PART_FRAMES);
    for (let part = Math.floor(frame / PART_FRAMES); part <= last; part += 1) if (!voice.parts.has(part)) return false;
    return true;
  }

  /** The frame at which the reader has to stop: the end of the loop that it is in, or of the clip. */
  function stopFrame({ voice, frame }) {
    return loops(voice) && frame <= loopEnd(voice) ? loopEnd(voice) : voice.frames;
  }

  function onStop({ voice, frame }) {
    if (!loops(voice) || frame > loopEnd(voice)) return finish(voice);
    positions.set(voice.group, loop[0]);
    return soundCurrent();
  }

  function recordHeard(voice, from, to) {
    const last = heardSpans.at(-1);
    if (last && last.name === voice.name && last.to === from) last.to = to;
    else heardSpans.push({ name: voice.name, from, to });
  }

  function mixReader(reader, left, right, at, frames) {
    const { voice } = reader;
    const top = fade.length - 1;
    for (let done = 0; done < frames; ) {
      const frame = reader.frame + done;
      const part = voice.parts.get(Math.floor(frame / PART_FRAMES));
      const offset = frame % PART_FRAMES;
      const run = Math.min(frames - done, PART_FRAMES - offset);
      for (let i = 0; i < run; i += 1) {
        if (reader.rising) reader.level = Math.min(top, reader.level + 1);
        else reader.level = Math.max(0, reader.level - 1);
        if (!part || offset + i >= part[0].length) continue;
        const gain = voice.gain * fade[reader.level];
        left[at + done + i] += gain * part[0][offset + i];
        right[at + done + i] += gain * part[part.length - 1][offset + i];
      }
      done += run;
    }
    reader.frame += frames;
  }

  return {
    /** Load other clips, without anything of those before. */
    reset({ clips, fadeMs }) {
      voices.clear();
      positions.clear();
      heardSpans.length = 0;
      atEnd.clear();
      readers = [];
      fadeOutActive();
      playing = buffering = false;
      loop = null;
      fade = raisedCosine(Math.round((fadeMs / 1000) * RATE));
      for (const clip of clips) voices.set(clip.name, { ...clip, parts: new Map() });
      current = clips[0]?.name ?? null;
    },
    /** Decoded samples of one part: one array per channel. */
    put: ({ name, part, channels }) => voices.get(name)?.parts.set(part, channels),
    drop: ({ name, part }) => voices.get(name)?.parts.delete(part),
    play({ name = current }) {
      if (!voices.has(name)) return;
      current = name;
      const voice = voices.get(name);
      rewindAtEnd(voice);
      playing = true;
      soundCurrent();
    },
    pause() {
      playing = buffering = false;
      fadeOutActive();
    },
    /** Make another clip the current one; during playback, crossfade to it. */
    select({ name }) {
      if (!voices.has(name) || name === current) return;
      current = name;
      if (!playing) return;
      rewindAtEnd(voices.get(name));
      soundCurrent();
    },
    seek({ name, frame }) {
      const voice = voices.get(name);
      if (!voice) return;
      atEnd.delete(voice.group);
      positions.set(voice.group, Math.min(Math.max(0, Math.round(frame)), voice.frames));
      if (playing && voices.get(current).group === voice.group) soundCurrent();
    },
    setLoop: ({ range }) => (loop = range),
    setVolume: ({ value }) => volume.set(value),
    /** Whether the rater can hear it: not while muted or hidden. Decides what counts as heard, not what is rendered. */
    setAudible: ({ value }) => (audible = value),

    /** Render into both channels, which come as zeros. */
    render(left, right) {
      const margin = Math.min(fade.length - 1 + left.length, active ? active.voice.frames - active.frame : 0);
      if (active && !hasFrames(active.voice, active.frame, margin)) {
        fadeOutActive(); // the fade-out still finds its data
        buffering = true;
      }
      if (buffering) soundCurrent();
      for (let at = 0; at < left.length; ) {
        if (active && active.frame >= stopFrame(active)) onStop(active);
        const frames = Math.min(left.length - at, active ? stopFrame(active) - active.frame : left.length);
        for (const reader of readers) {
          const from = reader.frame;
          mixReader(reader, left, right, at, frames);
          if (reader !== active) continue;
          positions.set(reader.voice.group, reader.frame);
          if (audible) recordHeard(reader.voice, from, reader.frame);
        }
        readers = readers.filter(isSounding);
        at += frames;
      }
      if (active && active.frame >= stopFrame(active)) onStop(active);
      volume.apply(left, right);
    },

    /** Playback state, and the spans heard since the last report: [{name, from, to}] in frames. */
    report() {
      const heard = heardSpans.splice(0).map((span) => ({ ...span }));
      return { current, playing, buffering, positions: Object.fromEntries(positions), heard };
    },
  };
}
