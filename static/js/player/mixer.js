/**
 * What sounds, sample by sample: one clip at a time, from decoded parts, at one media position for clips that belong
 * together. Runs on the audio thread (player_worklet.js) and in tests; knows no browser.
 *
 * A *voice* is a clip: {name, group, frames, gain}. Voices of one group share their position. A *reader* plays a voice
 * from a frame on while its envelope follows a raised cosine up or down; switching starts a reader at the very frame
 * where the old one is, so that the place is kept to the sample and the two always add up to one.
 */

/** Going from one level to another without a click. */
// Of the way to a new volume, per sample at 48 kHz: 10 ms to two thirds of it.
const VOLUME_STEP = 1 / 480;

/** Amplitudes from 0 to 1 along a raised cosine; rising and falling of one length add up to 1 at every sample. */
function raisedCosine(frames) {
  if (!frames) return new Float32Array([1]);
  return Float32Array.from({ length: frames + 1 }, (_, i) => 0.5 - 0.5 * Math.cos((Math.PI * i) / frames));
}

/** A volume that glides to where it is set. */
function createVolume() {
  let now = 1;
  let target = 1;
  return {
    set: (value) => (target = value),
    apply(left, right) {
      if (now === 1 && target === 1) return;
      for (let i = 0; i < left.length; i += 1) {
        now += (target - now) * VOLUME_STEP;
        left[i] *= now;
        right[i] *= now;
      }
      if (Math.abs(target - now) < 1e-5) now = target;
    },
  };
}

export const RATE = 48_000;
export const PART_FRAMES = 115_200;
export const SHORTEST_LOOP_S = 0.5;

// After running out of data, go on when this much is there: going on too early would stutter.
const ENOUGH_TO_GO_ON = RATE / 5;

export function createMixer({ onEnded = () => {} } = {}) {
  const voices = new Map();
  const positions = new Map();
  const spans = [];
  let readers = [];
  let current = null;
  let active = null; // the reader that is not fading out
  let waiting = false; // for data
  let playing = false;
  let loop = null;
  let audible = true;
  let fade = raisedCosine(0);
  const volume = createVolume();

  const isAudible = (reader) => reader.rising || reader.level > 0;
  const place = (voice) => positions.get(voice.group) ?? 0;
  const loopEnd = (voice) => Math.min(loop[1], voice.frames);
  const loops = (voice) => loop !== null && loop[0] < loopEnd(voice);

  function begin(voice, frame) {
    waiting = false;
    // Back again before the fade was over: it turns round, so that the two still add up to one.
    active = readers.find((reader) => reader.voice === voice && reader.frame === frame) ?? null;
    if (!active) {
      // The very beginning of a clip is left as it was made: fading it in would blunt it.
      active = { voice, frame, level: readers.length || frame ? 0 : fade.length - 1 };
      readers.push(active);
    }
    active.rising = true;
  }

  function release() {
    if (active) active.rising = false;
    active = null;
    readers = readers.filter(isAudible);
  }

  /** Sound `current` from its position, or say that it has ended before. */
  function sound() {
    release();
    const voice = voices.get(current);
    const frame = place(voice);
    if (frame >= voice.frames) return end(voice);
    if (has(voice, frame, Math.min(ENOUGH_TO_GO_ON, voice.frames - frame))) begin(voice, frame);
    else waiting = true;
  }

  function end(voice) {
    playing = false;
    waiting = false;
    release();
    onEnded(voice.name);
  }

  function has(voice, frame, frames) {
    const last = Math.floor((frame + frames - 1) / PART_FRAMES);
    for (let part = Math.floor(frame / PART_FRAMES); part <= last; part += 1) if (!voice.parts.has(part)) return false;
    return true;
  }

  /** Where the reader has to stop: at the end of the loop that it is in, or of the clip. */
  function stop({ voice, frame }) {
    return loops(voice) && frame <= loopEnd(voice) ? loopEnd(voice) : voice.frames;
  }

  function atStop({ voice, frame }) {
    if (!loops(voice) || frame > loopEnd(voice)) return end(voice);
    positions.set(voice.group, loop[0]);
    return sound();
  }

  function note(voice, from, to) {
    const last = spans.at(-1);
    if (last && last.name === voice.name && last.to === from) last.to = to;
    else spans.push({ name: voice.name, from, to });
  }

  function add(reader, left, right, at, frames) {
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
    /** Other clips: forget everything of those before. */
    reset({ clips, fadeMs }) {
      voices.clear();
      positions.clear();
      spans.length = 0;
      readers = [];
      release();
      playing = waiting = false;
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
      if (place(voice) >= voice.frames) positions.set(voice.group, 0);
      playing = true;
      sound();
    },
    pause() {
      playing = waiting = false;
      release();
    },
    /** Make another clip the current one; where something sounds, it goes on with this one. */
    select({ name }) {
      if (!voices.has(name) || name === current) return;
      current = name;
      if (playing) sound();
    },
    seek({ name, frame }) {
      const voice = voices.get(name);
      if (!voice) return;
      positions.set(voice.group, Math.min(Math.max(0, Math.round(frame)), voice.frames));
      if (playing && voices.get(current).group === voice.group) sound();
    },
    setLoop: ({ range }) => (loop = range),
    setVolume: ({ value }) => volume.set(value),
    /** Whether somebody could hear it: not while muted or hidden. Decides what counts as heard, not what sounds. */
    setAudible: ({ value }) => (audible = value),

    /** Fill both channels; they come as zeros. */
    render(left, right) {
      const margin = Math.min(fade.length - 1 + left.length, active ? active.voice.frames - active.frame : 0);
      if (active && !has(active.voice, active.frame, margin)) {
        release(); // the fade-out still finds its data
        waiting = true;
      }
      if (waiting) sound();
      for (let at = 0; at < left.length; ) {
        if (active && active.frame >= stop(active)) atStop(active);
        const frames = Math.min(left.length - at, active ? stop(active) - active.frame : left.length);
        for (const reader of readers) {
          const from = reader.frame;
          add(reader, left, right, at, frames);
          if (reader !== active) continue;
          positions.set(reader.voice.group, reader.frame);
          if (audible) note(reader.voice, from, reader.frame);
        }
        readers = readers.filter(isAudible);
        at += frames;
      }
      if (active && active.frame >= stop(active)) atStop(active);
      volume.apply(left, right);
    },

    /** The state now, and what was heard since the last report: [{name, from, to}] in frames. */
    report() {
      const heard = spans.splice(0).map((span) => ({ ...span }));
      return { current, playing, waiting, positions: Object.fromEntries(positions), heard };
    },
  };
}
