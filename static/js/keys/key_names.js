/** Names of keys, as people read them and as assistive technology wants them. Pure. */
const FACES = { Enter: "⏎", "Shift+Enter": "⇧ ⏎", "Ctrl+Enter": "Ctrl ⏎", Escape: "Esc" };

/** What stands on a <kbd>. The space bar is called as the language calls it. */
export function faceOf(key, t) {
  if (key === "Space") return t("key.space");
  return FACES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

/** For aria-keyshortcuts. */
export function spokenOf(key) {
  if (key === "Ctrl+Enter") return "Control+Enter";
  if (key === "+") return "Plus"; // the sign itself joins keys there
  return key.length === 1 ? key.toUpperCase() : key;
}
