/** A set of radio buttons that looks like a row of cards: choices, scales, confidence. */
import { h, uniqueId } from "../page/dom.js";

/**
 * `options`: {value, face, label, meaning, key}; `face` is what is large on the card (A, 4), `key` a key to press.
 * `listed` puts labels into a list below the cards, where a long scale has no room for them on the cards.
 * `onChange(value)` gets the option's value, or undefined after `clear`.
 */
export function createChoices({ legend, help = "", options, look, required, listed = false, onChange }) {
  const name = uniqueId("choices");
  const helpId = `${name}-help`;
  const problemId = `${name}-problem`;
  const inputs = options.map((option, index) =>
    h("input", { type: "radio", name, value: index, onchange: () => onChange(option.value) }),
  );
  const problem = h("p", { class: "problem", id: problemId, hidden: true });
  const element = h(
    "fieldset",
    {
      class: `choices ${look}`,
      role: "radiogroup",
      "aria-required": required ? "true" : null,
      "aria-describedby": `${help ? `${helpId} ` : ""}${problemId}`,
    },
    h("legend", {}, legend),
    help ? h("p", { class: "help", id: helpId }, help) : null,
    h(
      "div",
      { class: "options" },
      options.map((option, index) => h("label", { class: "option" }, inputs[index], face(option, listed))),
    ),
    listed ? labelList(options) : null,
    problem,
  );

  function pick(value) {
    const index = options.findIndex((option) => option.value === value);
    if (index < 0) return false;
    inputs[index].checked = true;
    return true;
  }

  return {
    element,
    write: pick,
    clear() {
      for (const input of inputs) input.checked = false;
      onChange(undefined);
    },
    /** A key press that means an option picks it. */
    press(value) {
      if (!pick(value)) return false;
      onChange(value);
      return true;
    },
    focus: () => (inputs.find((input) => input.checked) ?? inputs[0]).focus(),
    showProblem(text) {
      problem.textContent = text;
      problem.hidden = !text;
      if (text) element.setAttribute("aria-invalid", "true");
      else element.removeAttribute("aria-invalid");
    },
  };
}

/** What the labelled points mean. Each point's name says it too, so it need not be read twice. */
function labelList(options) {
  const labelled = options.filter(({ label }) => label);
  if (!labelled.length) return null;
  return h(
    "dl",
    { class: "point-labels small", "aria-hidden": "true" },
    labelled.map(({ face: large, label }) => h("div", {}, h("dt", {}, large), h("dd", {}, label))),
  );
}

function face({ face: large, label, meaning, key }, listed) {
  return h(
    "span",
    { class: "option-face" },
    h("span", { class: "option-value" }, large),
    label ? h("span", { class: listed ? "option-label visually-hidden" : "option-label" }, label) : null,
    meaning ? h("span", { class: "option-meaning" }, meaning) : null,
    key ? h("kbd", { "aria-hidden": "true" }, key) : null,
  );
}
