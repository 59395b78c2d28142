/** Panels of the filter bar: one open at a time; Escape or a press elsewhere closes it; / goes to the search field. */
import { listenForKeys } from "../keys/shortcuts.js";

export default function start(bar) {
  const panels = [...bar.querySelectorAll("details.panel")];
  for (const panel of panels) {
    panel.addEventListener("toggle", () => {
      if (!panel.open) return;
      for (const other of panels) if (other !== panel) other.open = false;
      place(panel);
    });
    // One that stands open when the page comes, to show what is wrong, toggles nothing.
    if (panel.open) place(panel);
    panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !panel.open) return;
      panel.open = false;
      panel.querySelector("summary").focus();
    });
    // A form sends nothing for what was left open: addresses stay short.
    panel.querySelector("form")?.addEventListener("submit", ({ target }) => dropEmpty(target));
  }
  document.addEventListener("pointerdown", ({ target }) => {
    for (const panel of panels) if (panel.open && !panel.contains(target)) panel.open = false;
  });
  const search = bar.querySelector("input[type=search]");
  listenForKeys(
    (name) => {
      if (name !== "/" || !search) return false;
      search.focus();
      search.select();
      return true;
    },
    { repeats: () => false },
  );
}

/** A panel near the left edge opens to the right. */
function place(panel) {
  const body = panel.querySelector(".panel-body");
  body.classList.remove("from-start");
  if (body.getBoundingClientRect().left < 8) body.classList.add("from-start");
}

function dropEmpty(form) {
  for (const field of form.elements) if (field.name && field.value === "") field.disabled = true;
}
