/** One ask on the page: its main control and, where the protocol wants it, how sure the rater is. */
import { createChoices } from "./choices.js";
import { h } from "../page/dom.js";
import { createNumberAnswer } from "./number_answer.js";
import { CANDIDATE_LABELS, choicesOf, confidenceIsRequired, isRequired, pointsOf } from "./protocol.js";
import { createSliderAnswer } from "./slider_answer.js";
import { createTextAnswer } from "./text_answer.js";
import { inLanguage } from "../page/texts.js";

const KEY_OF_CHOICE = { A: "A", B: "B", tie: "T", both_bad: "N" };
const KEY_OF_CORRECT = { 1: "Y", 0: "N" };
// Beyond the digits; and from so many points on, the labelled ones are listed below.
const KEY_OF_TEN = "T";
const MANY_POINTS = 8;

/**
 * `onChange(value)` gets the ask's whole value, {choice, value, confidence, text}. The view's `press(key)` answers a
 * key meant for this ask, `write(value)` restores a draft, `showProblem(part, text)` marks what is missing.
 */
export function createAskView(ask, { language, t, glossary, position, onChange }) {
  const { question } = ask;
  const value = {};
  const main = mainControl();
  const confidence = question.confidence ? confidenceControl() : null;
  const clear = mayBeLeftOut(question) ? clearButton(t, () => main.clear()) : null;
  const element = h("section", { class: "ask card", "data-ask": ask.id }, main.element, clear, confidence?.element);

  function enter(part, entered) {
    if (entered === undefined) delete value[part];
    else value[part] = entered;
    showClear();
    onChange({ ...value });
  }

  function mainControl() {
    const common = { legend: titleOf(ask, language), help: inLanguage(question.help, language), required: isRequired(question) };
    if (question.kind === "preference") {
      const options = choicesOf(question).map((choice) => choiceOption(choice, t));
      return createChoices({ ...common, look: "pair", options, onChange: (choice) => enter("choice", choice) });
    }
    if (question.kind === "text") {
      const maxLength = question.max_length ?? 2000;
      return createTextAnswer({ ...common, maxLength, glossary, language, position, t, onChange: (text) => enter("text", text) });
    }
    const onChangeValue = (number) => enter("value", number);
    const points = pointsOf(question);
    if (question.kind === "correctness") {
      return createChoices({ ...common, look: "pair verdict", options: verdictOptions(points, language), onChange: onChangeValue });
    }
    if (points.length) {
      const options = pointOptions(points, language);
      return createChoices({ ...common, look: lookOf(points), options, listed: points.length >= MANY_POINTS, onChange: onChangeValue });
    }
    const { minimum, maximum } = question;
    if (question.bands?.length) {
      const bands = question.bands.map((band) => ({ ...band, label: inLanguage(band.label, language) }));
      return createSliderAnswer({ ...common, minimum, maximum, bands, t, onChange: onChangeValue });
    }
    const range = t("answer.between", { least: minimum, most: maximum });
    return createNumberAnswer({ ...common, range, minimum, maximum, onChange: onChangeValue });
  }

  function confidenceControl() {
    return createChoices({
      legend: inLanguage(question.confidence.title, language),
      look: "scale confidence",
      options: pointOptions(question.confidence.points, language),
      required: confidenceIsRequired(question),
      onChange: (number) => enter("confidence", number),
    });
  }

  function showClear() {
    if (clear) clear.hidden = value.choice === undefined && value.value === undefined;
  }

  /** Digits fill the scale, then the confidence; where the choice has letters, digits are the confidence's. */
  function pressDigit(digit) {
    if (question.kind === "preference" && !confidence) return false;
    const mainFirst = question.kind !== "preference" && value.value === undefined;
    return (confidence && !mainFirst ? confidence : main).press(digit);
  }

  function pressVerdict(key) {
    const value = Object.keys(KEY_OF_CORRECT).find((each) => KEY_OF_CORRECT[each] === key);
    return value !== undefined && main.press(Number(value));
  }

  return {
    ask,
    element,
    write(saved) {
      Object.assign(value, saved);
      const entered = saved.choice ?? saved.value ?? saved.text;
      if (entered !== undefined) main.write(entered);
      if (saved.confidence !== undefined) confidence?.write(saved.confidence);
      showClear();
    },
    press(key) {
      if (/^[0-9]$/.test(key)) return pressDigit(Number(key));
      if (question.kind === "correctness") return pressVerdict(key.toUpperCase());
      if (question.kind === "rating" && key.toUpperCase() === KEY_OF_TEN) return main.press(10);
      const choice = Object.keys(KEY_OF_CHOICE).find((name) => KEY_OF_CHOICE[name] === key.toUpperCase());
      return question.kind === "preference" && choice !== undefined && main.press(choice);
    },
    focus: (part = "main") => (part === "confidence" && confidence ? confidence : main).focus(),
    showProblem: (part, text) => (part === "confidence" && confidence ? confidence : main).showProblem(text),
    clearProblems() {
      main.showProblem("");
      confidence?.showProblem("");
    },
    showTime: () => main.showTime?.(),
  };
}

function mayBeLeftOut(question) {
  return question.kind !== "text" && (!isRequired(question) || Boolean(question.excused_by?.length));
}

function titleOf({ question, position }, language) {
  const title = inLanguage(question.title, language);
  return position === null ? title : `${CANDIDATE_LABELS[position]}: ${title}`;
}

/** Meanings want lines of their own, labels some width, bare numbers little. */
function lookOf(points) {
  if (points.some(({ meaning }) => meaning)) return "scale rows";
  if (points.length >= MANY_POINTS) return "scale bare";
  return points.some(({ label }) => label) ? "scale" : "scale bare";
}

function choiceOption(choice, t) {
  if (choice.length === 1) return { value: choice, face: choice };
  return { value: choice, face: t(`answer.${choice}`), key: KEY_OF_CHOICE[choice] };
}

function pointOptions(points, language) {
  return points.map(({ value, label, meaning }) => ({
    value,
    face: String(value),
    label: inLanguage(label, language),
    meaning: inLanguage(meaning, language),
    key: value === 10 ? KEY_OF_TEN : null,
  }));
}

/** Correct or not: the words are what counts, and both keys are shown. */
function verdictOptions(points, language) {
  return points.map(({ value, label, meaning }) => ({
    value,
    face: inLanguage(label, language) || String(value),
    meaning: inLanguage(meaning, language),
    key: KEY_OF_CORRECT[value],
  }));
}

function clearButton(t, onclick) {
  return h("button", { type: "button", class: "plain-button clear", hidden: true, onclick }, t("answer.clear"));
}
