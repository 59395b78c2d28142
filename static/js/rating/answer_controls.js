/** A set of radio buttons that looks like a row of cards: choices, scales, confidence. */
import { h, uniqueId } from "../page/dom.js";
import { clock, inLanguage } from "../page/texts.js";

/** The named stretches of a continuous scale. Pure. */
/** The stretch a value lies in: at a shared edge the upper one; null outside all of them and for no value. */
export function bandOf(bands, value) {
  if (!Number.isFinite(value)) return null;
  const inside = bands.filter(({ minimum, maximum }) => minimum <= value && value <= maximum);
  return inside.reduce((best, band) => (best && best.minimum >= band.minimum ? best : band), null);
}

/** Putting a word into a text where the caret is, with the spaces and commas people would type. Pure. */
export function insertWord(text, start, end, word) {
  const before = text.slice(0, start);
  const after = text.slice(end);
  const lead = before === "" || /[\s(“"「『，。、；：（]$/.test(before) ? "" : " ";
  const trail = after === "" || /^[\s,.;:!?)，。、；：！？）]/.test(after) ? "" : " ";
  const written = `${before}${lead}${word}${trail}`;
  return { text: written + after, caret: written.length };
}

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

/** A scale too fine for buttons: a number between two others. The same interface as choices.js. */
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

/**
 * A continuous scale with named stretches: a slider to move, a number to type, and the name of where it stands. Nothing
 * is an answer until somebody gave it: until then the thumb is hollow and the number empty. The same interface as
 * choices.js.
 */
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

/** A text to write about what was heard: with the glossary's words and the present time one press away. */
/** `position()` is the present place in the clip, or null where nothing plays; `onChange(text)` follows typing. */
export function createTextAnswer({ legend, help, maxLength, required, glossary, language, position, onChange, t }) {
  const id = uniqueId("text");
  const area = h("textarea", {
    id,
    rows: "3",
    dir: "auto",
    maxlength: maxLength,
    "aria-required": required ? "true" : null,
    "aria-describedby": `${help ? `${id}-help ` : ""}${id}-problem`,
    oninput: changed,
  });
  const count = h("span", { class: "soft small number" });
  const problem = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
  const stamp = h("button", { type: "button", class: "button stamp", onclick: insertTime });
  const element = h(
    "div",
    { class: "text-answer" },
    h("label", { for: id }, legend, required ? null : h("span", { class: "soft" }, ` (${t("answer.optional")})`)),
    help ? h("p", { class: "help", id: `${id}-help` }, help) : null,
    area,
    h("div", { class: "row apart" }, position ? stamp : null, count),
    problem,
    glossary.length ? wordList() : null,
  );

  function showCount() {
    count.textContent = t("answer.characters", { used: area.value.length, most: maxLength });
  }

  function changed() {
    showCount();
    onChange(area.value);
  }

  function insert(word) {
    const { text, caret } = insertWord(area.value, area.selectionStart, area.selectionEnd, word);
    if (text.length > maxLength) return;
    area.value = text;
    area.focus();
    area.setSelectionRange(caret, caret);
    changed();
  }

  function insertTime() {
    insert(`@${clock(position())}`);
  }

  function wordList() {
    const words = (list) =>
      list.map((word) => {
        const text = inLanguage(word, language);
        return h("button", { type: "button", class: "word", onclick: () => insert(text) }, text);
      });
    const wide = globalThis.matchMedia("(min-width: 64rem)").matches;
    return h(
      "details",
      { class: "glossary", open: wide },
      h("summary", {}, t("answer.glossary")),
      glossary.map((row) =>
        h(
          "div",
          { class: "glossary-row", role: "group", "aria-label": inLanguage(row.dimension, language) },
          h("span", { class: "glossary-about", "aria-hidden": "true" }, inLanguage(row.dimension, language)),
          h("span", { class: "glossary-words" }, words(row.positive ?? []), words(row.negative ?? [])),
        ),
      ),
    );
  }

  showCount();
  return {
    element,
    write(text) {
      area.value = text;
      showCount();
    },
    press: () => false,
    focus: () => area.focus(),
    /** The button says which time it would insert. */
    showTime() {
      if (!position) return;
      const label = t("answer.insert_time", { time: `@${clock(position())}` });
      if (stamp.textContent !== label) stamp.textContent = label;
    },
    showProblem(text) {
      problem.textContent = text;
      problem.hidden = !text;
      if (text) area.setAttribute("aria-invalid", "true");
      else area.removeAttribute("aria-invalid");
    },
  };
}
