/**
 * Options as a list of cards: one of them (radio buttons) or several (checkboxes), the first nine with their digits.
 * The same interface as the other answer controls (answer_controls.js).
 */
import { h, uniqueId } from "../page/dom.js";
import { translate } from "../page/texts.js";
import { showProblem } from "./answer_controls.js";

/** One of several. `options`: {key, title, meaning} in the reader's language. `onChange(key)`, undefined once cleared. */
export function createOptionChoice({ legend, help, options, required, onChange }) {
  const name = uniqueId("option");
  const inputs = options.map(({ key }) => h("input", { type: "radio", name, value: key, onchange: () => onChange(key) }));
  const { element, problem } = optionList({ legend, help, options, inputs, role: "radiogroup", required });

  function check(key) {
    const input = inputs.find(({ value }) => value === key);
    if (input) input.checked = true;
    return Boolean(input);
  }

  return {
    element,
    restore: check,
    clear() {
      for (const input of inputs) input.checked = false;
      onChange(undefined);
    },
    press(digit) {
      const key = options[digit - 1]?.key;
      if (!key) return false;
      check(key);
      onChange(key);
      return true;
    },
    focus: () => (inputs.find(({ checked }) => checked) ?? inputs[0]).focus(),
    showProblem: (text) => showProblem(problem, text, [element]),
  };
}

/**
 * Several of several. `none`: whether "None of these" is an answer; it has to be ticked. `onChange(keys)`, undefined while
 * nothing is ticked. `hint` says how many.
 */
export function createOptionChoices({ legend, help, hint, options, none, required, onChange }) {
  const inputs = options.map(({ key }) => h("input", { type: "checkbox", value: key, onchange: () => enter() }));
  const noneInput = none ? h("input", { type: "checkbox", onchange: () => enterNone() }) : null;
  const shown = none ? [...options, { title: translate("None of these"), digit: 0 }] : options;
  const all = none ? [...inputs, noneInput] : inputs;
  const { element, problem } = optionList({ legend, help: [help, hint].filter(Boolean).join(" "), options: shown, inputs: all, role: "group", required });
  element.classList.add("several");

  const ticked = () => inputs.filter(({ checked }) => checked).map(({ value }) => value);

  function enter() {
    if (noneInput && ticked().length) noneInput.checked = false;
    const keys = ticked();
    onChange(keys.length || noneInput?.checked ? keys : undefined);
  }

  function enterNone() {
    if (noneInput.checked) for (const input of inputs) input.checked = false;
    enter();
  }

  return {
    element,
    staysAtHand: true,
    restore(keys) {
      for (const input of inputs) input.checked = keys.includes(input.value);
      if (noneInput) noneInput.checked = keys.length === 0;
    },
    clear() {
      for (const input of all) input.checked = false;
      onChange(undefined);
    },
    press(digit) {
      const input = digit === 0 ? noneInput : inputs[digit - 1];
      if (!input) return false;
      input.checked = !input.checked;
      input.focus({ preventScroll: true });
      if (input === noneInput) enterNone();
      else enter();
      return true;
    },
    focus: () => all[0].focus(),
    showProblem: (text) => showProblem(problem, text, [element]),
  };
}

function optionList({ legend, help, options, inputs, role, required }) {
  const id = uniqueId("options");
  const problem = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
  const isPlain = options.length > 5 && !options.some(({ meaning }) => meaning);
  const element = h(
    "fieldset",
    {
      class: `choices option-list ${isPlain ? "in-columns" : ""}`,
      role,
      "aria-required": required && role === "radiogroup" ? "true" : null,
      "aria-describedby": `${help ? `${id}-help ` : ""}${id}-problem`,
    },
    h("legend", {}, legend),
    help ? h("p", { class: "help", id: `${id}-help` }, help) : null,
    h("div", { class: "options" }, options.map((option, index) => h("label", { class: "option" }, inputs[index], face(option, index)))),
    problem,
  );
  return { element, problem };
}

function face({ title, meaning, digit }, index) {
  const key = digit ?? (index < 9 ? index + 1 : null);
  return h(
    "span",
    { class: "option-face" },
    h("span", { class: "option-tick", "aria-hidden": "true" }),
    h("span", { class: "option-label" }, title),
    key === null ? null : h("kbd", { "aria-hidden": "true" }, String(key)),
    meaning ? h("span", { class: "option-meaning" }, meaning) : null,
  );
}
