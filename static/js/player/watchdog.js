/** Nobody must sit before a player that only looks as if it played. */

// A mixer that plays reports thirty times a second; when it says nothing for so long, nothing can be heard.
const SILENCE_MS = 2000;

export function createWatchdog(onSilence) {
  let timer = null;
  return {
    /** Whether to hear from the mixer soon; each call begins the wait anew. */
    expect(is) {
      clearTimeout(timer);
      if (is) timer = setTimeout(onSilence, SILENCE_MS);
    },
  };
}
