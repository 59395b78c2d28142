/** Whether somebody can hear what plays: the volume, the mute switch, the page in front or not. Notes it in the log. */
export function createAudibility({ engine, log, order, page, signal, onHidden, onChange }) {
  let muted = false;

  function apply() {
    const value = muted ? 0 : engine.volume;
    log.volume(value);
    log.during("muted", value === 0);
    log.during("hidden", page.hidden);
    order("setVolume", { value });
    order("setAudible", { value: value > 0 && !page.hidden });
  }

  function onVisibility() {
    apply();
    if (page.hidden) onHidden();
  }

  page.addEventListener("visibilitychange", onVisibility, { signal });
  return {
    apply,
    get volume() {
      return engine.volume;
    },
    set volume(value) {
      engine.volume = Math.min(1, Math.max(0, value));
      muted = false;
      apply();
      onChange();
    },
    get muted() {
      return muted;
    },
    set muted(is) {
      muted = is;
      apply();
      onChange();
    },
  };
}
