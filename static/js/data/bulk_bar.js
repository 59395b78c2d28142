/** Bar below a table: what to do with the chosen rows. It is there once a row is chosen, and asks what the action needs. */
import { fill } from "../page/texts.js";

export default function start(bar) {
  const boxes = () => [...document.querySelectorAll(bar.dataset.boxes)];
  const count = bar.querySelector(".bulk-count");
  const action = bar.querySelector("select[name=action]");
  const scope = bar.querySelector("select[name=scope]");

  function show() {
    const chosen = boxes().filter((box) => box.checked).length;
    count.textContent = scope.value === "all" ? "" : fill(count.dataset.one, { n: chosen });
    const active = chosen > 0 || scope.value === "all";
    bar.classList.toggle("idle", !active);
    bar.classList.toggle("active", active);
    for (const field of bar.querySelectorAll(".bulk-field")) {
      field.hidden = !field.dataset.for.split(" ").includes(action.value);
      const control = field.querySelector("input, select");
      control.disabled = field.hidden;
      control.required = !field.hidden && control.name !== "comment";
    }
  }

  bar.closest("form").addEventListener("change", show);
  show();
}
