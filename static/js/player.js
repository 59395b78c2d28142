/**
 * One sound at a time, from several clips. Everything else on the page speaks to this interface only:
 *   play(name?) pause() toggle() switchOver() seek(seconds, name?) restart() position(name) retry(name) dispose()
 *   current, playing, failed(name), addEventListener("change" | "time" | "ended" | "failed", …)
 * `clips`: {name, url, duration, eager, group}. `switchOver` goes round the clips of one group and keeps the place.
 */
export function createPlayer(clips) {
  const events = new EventTarget();
  const sounds = new Map(clips.map((clip) => [clip.name, { ...clip, audio: load(clip), failed: false }]));
  let current = clips[0]?.name ?? null;
  let frame = 0;

  const tell = (type, name = current) => events.dispatchEvent(new CustomEvent(type, { detail: { name } }));
  const sound = (name) => sounds.get(name ?? current);
  const isPlaying = () => Boolean(current) && !sound().audio.paused;

  function follow() {
    cancelAnimationFrame(frame);
    if (!isPlaying()) return;
    tell("time");
    frame = requestAnimationFrame(follow);
  }

  for (const [name, { audio }] of sounds) {
    for (const type of ["play", "pause"]) {
      audio.addEventListener(type, () => {
        tell("change", name);
        follow();
      });
    }
    audio.addEventListener("seeked", () => tell("time", name));
    audio.addEventListener("ended", () => tell("ended", name));
    audio.addEventListener("error", () => fail(name));
  }

  function fail(name) {
    if (!sound(name).audio.hasAttribute("src")) return; // disposed of, not broken
    sound(name).failed = true;
    tell("failed", name);
  }

  function pause() {
    for (const { audio } of sounds.values()) audio.pause();
  }

  async function play(name = current) {
    if (!sounds.has(name)) return;
    for (const other of sounds.values()) if (other.name !== name) other.audio.pause();
    if (current !== name) {
      current = name;
      tell("change");
    }
    try {
      await sound().audio.play();
    } catch (error) {
      if (error.name !== "AbortError") fail(name); // aborted: somebody paused before it had begun
    }
  }

  function seek(seconds, name = current) {
    if (!sounds.has(name)) return;
    const { audio, duration } = sound(name);
    audio.currentTime = Math.min(Math.max(0, seconds), duration);
    tell("time", name);
  }

  return {
    addEventListener: events.addEventListener.bind(events),
    get current() {
      return current;
    },
    get playing() {
      return isPlaying();
    },
    has: (name) => sounds.has(name),
    failed: (name) => sound(name).failed,
    position: (name) => (sounds.has(name ?? current) ? sound(name).audio.currentTime : 0),
    play,
    pause,
    seek,
    toggle: () => (isPlaying() ? pause() : play()),
    restart: () => seek(0),
    retry(name) {
      sound(name).failed = false;
      sound(name).audio.load();
      return play(name);
    },
    switchOver() {
      const from = sound();
      const next = after([...sounds.values()].filter((clip) => clip.group), from);
      if (!next || next === from) return;
      const keepsPlace = Boolean(from.group);
      const sounding = isPlaying();
      pause();
      if (keepsPlace) seek(from.audio.ended ? 0 : from.audio.currentTime, next.name);
      current = next.name;
      tell("change");
      if (sounding || !keepsPlace) play(next.name);
    },
    dispose() {
      cancelAnimationFrame(frame);
      for (const { audio } of sounds.values()) {
        audio.pause();
        audio.removeAttribute("src");
        audio.load(); // lets go of the data
      }
    },
  };
}

function load({ url, eager }) {
  const audio = new Audio();
  audio.preload = eager ? "auto" : "none";
  audio.src = url;
  return audio;
}

/** The clip after this one, going round; the first where this one is not among them. */
function after(group, clip) {
  return group[(group.indexOf(clip) + 1) % group.length];
}
