/** Texts: a protocol's in the reader's language, and the interface's translated texts with placeholders. */

/** A protocol's text is a string, or an object of strings by language, which always has English. */
export function inLanguage(text, language) {
  if (text === null || text === undefined) return "";
  if (typeof text === "string") return text.trim();
  return (text[language] || text.en || "").trim();
}

export function fill(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (blank, name) => (name in values ? String(values[name]) : blank));
}

/** Seconds as minutes and seconds: 0:07, 1:05, 61:00. */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(Number.isFinite(seconds) ? seconds : 0));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

// What an encoder adds to a clip's end, or rounding: no second of its own.
const END_S = 0.05;

/** A length in whole seconds: a begun second counts. */
export function lengthSeconds(seconds) {
  return seconds > 0 ? Math.max(1, Math.ceil(seconds - END_S)) : 0;
}

/** How much of a length has passed, in whole seconds: full ones, and at the end the whole length. */
export function passedSeconds(seconds, length) {
  return seconds >= length - END_S ? lengthSeconds(length) : Math.floor(seconds);
}

/** The place in a clip and its length, as minutes and seconds: ["0:08", "0:09"]; both say the same at its end. */
export function clockOf(seconds, length) {
  return [clock(passedSeconds(seconds, length)), clock(lengthSeconds(length))];
}

/** The catalogue of translations that Django's JavaScriptCatalog serves, loaded before all modules; else English. */
const gettext = globalThis.gettext ?? ((text) => text);

/** A text of the interface in the reader's language: translate("Play {clip}", { clip: "A" }). */
export function translate(text, values) {
  return fill(gettext(text), values);
}

/** With a capital, for a sentence that begins with a name put in. */
export function sentenceCase(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
