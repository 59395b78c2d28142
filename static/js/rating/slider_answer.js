/**
 * A continuous scale with named stretches: a slider to move, a number to type, and the name of where it stands. Nothing
 * is an answer until somebody gave it: until then the thumb is hollow and the number empty. The same interface as
 * choices.js.
 */
import { bandOf } from "./bands.js";
import { h, uniqueId } from "../page/dom.js";

const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"];

/** `bands`: {minimum, maximum, label} in the reader's language; `onChange(number)` gets undefined after `clear`. */
export function createSliderAnswer({ legend, help, minimum, maximum, bands, required, t, onChange }) {
  const id = uniqueId("slider");
  const problem = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
  const described = `${help ? `${id}-help ` : ""}${id}-problem`;
  const range = h("input", {
    type: "range",
    min: minimum,
    max: maximum,
    step: "1",
    value: (minimum + maximum) / 2,
    "aria-label": legend,
    "aria-describedby": described,
    oninput: () => give(Number(range.value)),
    onpointerup: () => give(Number(range.value)), // pressed where the thumb already was
    onkeydown: typeInstead,
    onkeyup: ({ key }) => MOVES.includes(key) && give(Number(range.value)), // at an end nothing moves
  });
  const number = h("input", {
    type: "number",
    min: minimum,
    max: maximum,
    step: "any",
    inputmode: "decimal",
    "aria-label": t("answer.as_number", { question: legend }),
    "aria-required": required ? "true" : null,
    "aria-describedby": described,
    oninput: () => give(number.value === "" ? undefined : Number(number.value)),
  });
  const name = h("span", { class: "band-name small", "aria-hidden": "true" });
  const element = h(
    "div",
    { class: "slider-answer", role: "group", "aria-labelledby": `${id}-legend` },
    h("p", { class: "legend", id: `${id}-legend` }, legend),
    help ? h("p", { class: "help", id: `${id}-help` }, help) : null,
    h("div", { class: "slider-line" }, h("div", { class: "slider-track" }, ruler(bands), range), number, name),
    problem,
  );

  /** Digits on the slider are the beginning of a number. */
  function typeInstead(event) {
    if (!/^[0-9]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    number.value = event.key;
    number.focus();
    give(Number(event.key));
  }

  function give(value) {
    show(value);
    onChange(value);
  }

  function show(value) {
    const band = bandOf(bands, value);
    if (value === undefined) number.value = "";
    else if (number.value === "" || Number(number.value) !== value) number.value = value;
    if (value !== undefined) range.value = value;
    range.classList.toggle("unset", value === undefined);
    range.setAttribute("aria-valuetext", value === undefined ? t("answer.not_given") : spoken(value, band));
    name.textContent = value === undefined ? t("answer.not_given") : (band?.label ?? "");
  }

  show(undefined);
  return {
    element,
    write: show,
    press: () => false,
    clear: () => give(undefined),
    focus: () => range.focus(),
    showProblem(text) {
      problem.textContent = text;
      problem.hidden = !text;
      for (const input of [range, number]) {
        if (text) input.setAttribute("aria-invalid", "true");
        else input.removeAttribute("aria-invalid");
      }
    },
  };
}

const spoken = (value, band) => (band ? `${value}, ${band.label}` : String(value));

/** The stretches along the track, from the lowest, each as wide as it is. */
function ruler(bands) {
  const parts = [...bands].sort((a, b) => a.minimum - b.minimum).map(({ minimum, maximum, label }) => {
    const part = h("span", {}, label);
    part.style.flexGrow = maximum - minimum;
    return part;
  });
  return h("div", { class: "ruler", "aria-hidden": "true" }, parts);
}
