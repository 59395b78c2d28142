/**
 * Answer controls: choices (radio buttons), a slider, a text. All have the same interface:
 *   element  restore(value)  press(value): whether a key press means something here  focus()  showProblem(text)
 * and all but the text clear(). `onChange(value)` gets the value entered, undefined after `clear`.
 */
import { h, uniqueId } from "../page/dom.js";
import { clock, inLanguage, translate } from "../page/texts.js";

/** The validation error under a control; while one is shown, `inputs` are marked invalid. */
export function showProblem(line, text, inputs) {
  line.textContent = text;
  line.hidden = !text;
  for (const input of inputs) {
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
}

// ── Choices ────────────────────────────────────────────────────────────────────

/**
 * Radio buttons that look like a row of cards. `options`: {value, face, label, meaning, key}; `face` is what is large on
 * the card (A, 4), `key` a key to press.
 * `listed` puts labels into a list below the cards, where a long scale has no room for them on the cards.
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
      options.map((option, index) => h("label", { class: "option" }, inputs[index], optionFace(option, listed))),
    ),
    listed ? labelList(options) : null,
    problem,
  );
  element.style.setProperty("--points", options.length);

  function check(value) {
    const index = options.findIndex((option) => option.value === value);
    if (index < 0) return false;
    inputs[index].checked = true;
    return true;
  }

  return {
    element,
    restore: check,
    clear() {
      for (const input of inputs) input.checked = false;
      onChange(undefined);
    },
    press(value) {
      if (!check(value)) return false;
      onChange(value);
      return true;
    },
    focus: () => (inputs.find((input) => input.checked) ?? inputs[0]).focus(),
    showProblem: (text) => showProblem(problem, text, [element]),
  };
}

/**
 * The labels of the points: the ends under the ends where only those have one, else a list. Hidden from screen readers:
 * each radio button has its label in its name.
 */
function labelList(options) {
  const labelled = options.filter(({ label }) => label);
  if (!labelled.length) return null;
  const [first, last] = [options[0], options.at(-1)];
  if (labelled.every((option) => option === first || option === last)) {
    return h("p", { class: "scale-ends", "aria-hidden": "true" }, h("span", {}, first.label), h("span", {}, last.label));
  }
  return h(
    "dl",
    { class: "point-labels small", "aria-hidden": "true" },
    labelled.map(({ face: large, label }) => h("div", {}, h("dt", {}, large), h("dd", {}, label))),
  );
}

function optionFace({ face: large, label, meaning, key }, listed) {
  return h(
    "span",
    { class: "option-face" },
    h("span", { class: "option-value" }, large),
    label ? h("span", { class: listed ? "option-label visually-hidden" : "option-label" }, label) : null,
    meaning ? h("span", { class: "option-meaning" }, meaning) : null,
    key ? h("kbd", { "aria-hidden": "true" }, key) : null,
  );
}

// ── Slider ─────────────────────────────────────────────────────────────────────

const FINE_UP_TO = 10; // a range as short moves by hundredths of itself
const MOVE_KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"];

/**
 * A continuous scale: a slider to move, a number to type, and the name of the band it is in. There is no default answer:
 * until the rater gives one, the thumb is hollow and the number empty. `bands`: {minimum, maximum, label} in the reader's
 * language, or none, and the track shows its ends. `step`: between two values; null where any number may be typed.
 */
export function createSliderAnswer({ legend, help, minimum, maximum, step = null, bands = [], required, onChange }) {
  const id = uniqueId("slider");
  const problem = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
  const described = `${help ? `${id}-help ` : ""}${id}-problem`;
  const range = h("input", {
    type: "range",
    min: minimum,
    max: maximum,
    step: step ?? (maximum - minimum > FINE_UP_TO ? 1 : (maximum - minimum) / 100),
    value: (minimum + maximum) / 2,
    "aria-label": legend,
    "aria-describedby": described,
    oninput: () => enter(Number(range.value)),
    onpointerup: () => enter(Number(range.value)), // pressed where the thumb already was
    onkeydown: typeInstead,
    onkeyup: ({ key }) => MOVE_KEYS.includes(key) && enter(Number(range.value)), // at an end nothing moves
  });
  const number = h("input", {
    type: "number",
    min: minimum,
    max: maximum,
    step: step ?? "any",
    inputmode: "decimal",
    "aria-label": translate("As a number: {question}", { question: legend }),
    "aria-required": required ? "true" : null,
    "aria-describedby": described,
    oninput: () => enter(number.value === "" ? undefined : Number(number.value)),
  });
  const name = h("span", { class: "band-name small", "aria-hidden": "true" });
  const element = h(
    "div",
    { class: "slider-answer", role: "group", "aria-labelledby": `${id}-legend` },
    h("p", { class: "legend", id: `${id}-legend` }, legend),
    help ? h("p", { class: "help", id: `${id}-help` }, help) : null,
    h("div", { class: "slider-line" }, h("div", { class: "slider-track" }, bands.length ? ruler(bands) : ends(minimum, maximum), range), number, name),
    problem,
  );

  /** Digits on the slider are the beginning of a number. */
  function typeInstead(event) {
    if (!/^[0-9]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    number.value = event.key;
    number.focus();
    enter(Number(event.key));
  }

  function enter(value) {
    show(value);
    onChange(value);
  }

  function show(value) {
    const band = bandOf(bands, value);
    if (value === undefined) number.value = "";
    else if (number.value === "" || Number(number.value) !== value) number.value = value;
    if (value !== undefined) range.value = value;
    range.classList.toggle("unset", value === undefined);
    range.setAttribute("aria-valuetext", value === undefined ? translate("not rated yet") : valueText(value, band));
    name.textContent = value === undefined ? translate("not rated yet") : (band?.label ?? "");
  }

  show(undefined);
  return {
    element,
    restore: show,
    press: () => false,
    clear: () => enter(undefined),
    focus: () => range.focus(),
    showProblem: (text) => showProblem(problem, text, [range, number]),
  };
}

const valueText = (value, band) => (band ? `${value}, ${band.label}` : String(value));

function ends(minimum, maximum) {
  return h("div", { class: "slider-ends", "aria-hidden": "true" }, h("span", {}, String(minimum)), h("span", {}, String(maximum)));
}

/** The bands along the track, from the lowest, each in proportion to its width. */
function ruler(bands) {
  const parts = [...bands].sort((a, b) => a.minimum - b.minimum).map(({ minimum, maximum, label }) => {
    const part = h("span", {}, label);
    part.style.flexGrow = maximum - minimum;
    return part;
  });
  return h("div", { class: "ruler", "aria-hidden": "true" }, parts);
}

/** The band of a value: at a shared edge the upper one; null outside all bands and without a value. Pure. */
export function bandOf(bands, value) {
  if (!Number.isFinite(value)) return null;
  const inside = bands.filter(({ minimum, maximum }) => minimum <= value && value <= maximum);
  return inside.reduce((best, band) => (best && best.minimum >= band.minimum ? best : band), null);
}

// ── Text ───────────────────────────────────────────────────────────────────────

/**
 * A text, with buttons that insert the glossary's words and the playback time. `position()` is the playback position in
 * seconds; null where there is no clip.
 */
export function createTextAnswer({ legend, help, maxLength, required, glossary, language, position, onChange }) {
  const id = uniqueId("text");
  const textarea = h("textarea", {
    id,
    rows: "3",
    dir: "auto",
    maxlength: maxLength,
    "aria-required": required ? "true" : null,
    "aria-describedby": `${help ? `${id}-help ` : ""}${id}-problem`,
    oninput: onInput,
  });
  const count = h("span", { class: "soft small number" });
  const problem = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
  const timeButton = h("button", { type: "button", class: "button stamp", onclick: insertTime });
  const element = h(
    "div",
    { class: "text-answer" },
    h("label", { for: id }, legend, required ? null : h("span", { class: "soft" }, ` (${translate("optional")})`)),
    help ? h("p", { class: "help", id: `${id}-help` }, help) : null,
    textarea,
    h("div", { class: "row apart" }, position ? timeButton : null, count),
    problem,
    glossary.length ? wordList() : null,
  );

  function showCount() {
    count.textContent = translate("{used} of {most} characters", { used: textarea.value.length, most: maxLength });
  }

  function onInput() {
    showCount();
    onChange(textarea.value);
  }

  function insert(word) {
    const { text, caret } = insertWord(textarea.value, textarea.selectionStart, textarea.selectionEnd, word);
    if (text.length > maxLength) return;
    textarea.value = text;
    textarea.focus();
    textarea.setSelectionRange(caret, caret);
    onInput();
  }

  function insertTime() {
    insert(`@${clock(position())}`);
  }

  function wordList() {
    const wordButtons = (list) =>
      list.map((word) => {
        const text = inLanguage(word, language);
        return h("button", { type: "button", class: "word", onclick: () => insert(text) }, text);
      });
    const wide = globalThis.matchMedia("(min-width: 64rem)").matches;
    return h(
      "details",
      { class: "glossary", open: wide },
      h("summary", {}, translate("Words that help")),
      glossary.map((row) =>
        h(
          "div",
          { class: "glossary-row", role: "group", "aria-label": inLanguage(row.dimension, language) },
          h("span", { class: "glossary-about", "aria-hidden": "true" }, inLanguage(row.dimension, language)),
          h("span", { class: "glossary-words" }, wordButtons(row.positive ?? []), wordButtons(row.negative ?? [])),
        ),
      ),
    );
  }

  showCount();
  return {
    element,
    restore(text) {
      textarea.value = text;
      showCount();
    },
    press: () => false,
    focus: () => textarea.focus(),
    /** Show the playback time on the button that inserts it. */
    showTime() {
      if (!position) return;
      const label = translate("Insert the time {time}", { time: `@${clock(position())}` });
      if (timeButton.textContent !== label) timeButton.textContent = label;
    },
    showProblem: (text) => showProblem(problem, text, [textarea]),
  };
}

/** Insert a word into a text at the selection, with the spaces that people would type. Pure. */
export function insertWord(text, start, end, word) {
  const before = text.slice(0, start);
  const after = text.slice(end);
  const lead = before === "" || /[\s(“"「『，。、；：（]$/.test(before) ? "" : " ";
  const trail = after === "" || /^[\s,.;:!?)，。、；：！？）]/.test(after) ? "" : " ";
  const untilCaret = `${before}${lead}${word}${trail}`;
  return { text: untilCaret + after, caret: untilCaret.length };
}
