/**
 * Table of a study's data: the clips of its rows (clips.js), and keys: j and k go down and up, Space plays the row, x
 * selects it, Enter opens its page. A press with Shift selects all rows since the last one that was pressed.
 */
import { listenForKeys } from "../keys/shortcuts.js";
import { stepTo } from "../page/steps.js";
import startClips from "./clips.js";

export default function start(table) {
  startClips(table);
  const rows = [...table.querySelectorAll("tbody tr[data-row]")];
  let at = null;

  function go(row) {
    if (!row) return false;
    at?.classList.remove("at");
    at = row;
    row.classList.add("at");
    (row.querySelector("[data-row-link]") ?? row.querySelector("a, button, input"))?.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    return true;
  }

  function select() {
    const box = at?.querySelector("input[type=checkbox]");
    box?.click();
    return Boolean(box);
  }

  function play() {
    if (!at) return false;
    table.playRow(at);
    return true;
  }

  let lastBox = null;
  table.addEventListener("click", (event) => {
    const box = event.target.closest("tbody input[type=checkbox]");
    if (!box) return;
    if (event.shiftKey && lastBox) {
      const boxes = rows.map((row) => row.querySelector("input[type=checkbox]"));
      const [first, last] = [boxes.indexOf(lastBox), boxes.indexOf(box)].sort((a, b) => a - b);
      for (const between of boxes.slice(first, last + 1)) between.checked = box.checked;
    }
    lastBox = box;
  });
  // The row that has the focus, or was pressed, is the one at hand.
  table.addEventListener("focusin", ({ target }) => {
    const row = target.closest("tbody tr[data-row]");
    if (!row || row === at) return;
    at?.classList.remove("at");
    at = row;
    row.classList.add("at");
  });
  const actions = { j: () => go(stepTo(rows, at, 1)), k: () => go(stepTo(rows, at, -1)), x: select };
  const keys = listenForKeys((name) => actions[name]?.() ?? false, { repeats: (name) => name === "j" || name === "k" });
  // Space on a link or on nothing plays; on a button it presses that.
  document.addEventListener("keydown", (event) => {
    const tag = document.activeElement?.tagName;
    if (event.key !== " " || event.repeat || !at || ["INPUT", "TEXTAREA", "SELECT", "BUTTON", "SUMMARY"].includes(tag)) return;
    if (document.querySelector("dialog[open]")) return;
    if (play()) event.preventDefault();
  });
  for (const hint of document.querySelectorAll("[data-table-keys]")) hint.hidden = !keys.on;
}
