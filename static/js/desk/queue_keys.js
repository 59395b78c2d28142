/** Review queue shortcuts: j and k go from case to case, Enter opens the focused one, n takes the next. */
import { listenForKeys } from "../keys/shortcuts.js";
import { stepTo } from "../page/steps.js";

export default function queueKeys(list) {
  const move = (step) => {
    const next = stepTo([...list.querySelectorAll("[data-case]")], document.activeElement, step);
    next?.focus();
    return next !== null;
  };
  const takeNext = () => {
    const button = document.getElementById("review-next");
    button?.click();
    return button !== null;
  };
  const actions = { j: () => move(1), k: () => move(-1), n: takeNext };
  const keys = listenForKeys((name) => actions[name]?.() ?? false, { repeats: (name) => name === "j" || name === "k" });
  for (const hint of document.querySelectorAll("[data-queue-keys]")) hint.hidden = !keys.on;
  if (keys.on) document.getElementById("review-next")?.setAttribute("aria-keyshortcuts", "n");
}
