/** A scale too fine for buttons: a number between two others. The same interface as choices.js. */
import { h, uniqueId } from "../page/dom.js";

export function createNumberAnswer({ legend, help, range, minimum, maximum, required, onChange }) {
  const id = uniqueId("number");
  const entered = () => (input.value === "" ? undefined : Number(input.value));
  const problem = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
  const input = h("input", {
    id,
    type: "number",
    step: "any",
    min: minimum,
    max: maximum,
    "aria-required": required ? "true" : null,
    "aria-describedby": `${id}-help ${id}-problem`,
    oninput: () => onChange(entered()),
  });
  return {
    element: h(
      "div",
      { class: "number-answer" },
      h("label", { for: id }, legend),
      h("p", { class: "help", id: `${id}-help` }, help ? `${help} ${range}.` : `${range}.`),
      input,
      problem,
    ),
    write: (number) => (input.value = number),
    press: () => false,
    clear() {
      input.value = "";
      onChange(undefined);
    },
    focus: () => input.focus(),
    showProblem(text) {
      problem.textContent = text;
      problem.hidden = !text;
      if (text) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    },
  };
}
