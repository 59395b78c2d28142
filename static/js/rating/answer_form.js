/** Everything a task asks, as one form: which question is at hand, what has been entered, what is missing. */
import { isComplete } from "./answers.js";
import { createChoices, createNumberAnswer, createSliderAnswer, createTextAnswer } from "./answer_controls.js";
import { h, uniqueId } from "../page/dom.js";
import { asksOf, CANDIDATE_LABELS, choicesOf, confidenceIsRequired, isRequired, pointsOf } from "./protocol.js";
import { inLanguage } from "../page/texts.js";

/** `draft` is read at the start and kept up to date; `onChange()` follows every change to it. */
export function createAsked({ definition, nCandidates, draft, language, t, position, onChange }) {
  const asks = asksOf(definition, nCandidates);
  const views = asks.map(createView);
  const report = createReport(definition, { language, t, onChange: reported });
  report?.write(draft);
  let atHand = null;

  function createView(ask) {
    const glossary = definition.glossary ?? [];
    const view = createAskView(ask, { language, t, glossary, position, onChange: (value) => entered(view, value) });
    if (draft.values[ask.id]) view.write(draft.values[ask.id]);
    view.element.addEventListener("focusin", () => mark(view));
    return view;
  }

  function entered(view, value) {
    draft.values[view.ask.id] = value;
    view.clearProblems();
    onChange();
  }

  function reported({ codes, comment }) {
    draft.codes = codes;
    draft.comment = comment;
    clearProblems(); // a code may excuse from a question
    onChange();
  }

  function mark(view) {
    atHand = view;
    for (const other of views) other.element.classList.toggle("at-hand", other === view);
  }

  function show(view) {
    mark(view);
    view.element.scrollIntoView({ block: "nearest" });
  }

  function clearProblems() {
    for (const view of views) view.clearProblems();
    report?.showProblem("");
  }

  const isDone = (view) => isComplete(view.ask, draft.values[view.ask.id]);
  const firstOpen = () => views.find((view) => !isDone(view)) ?? views.at(-1);
  const viewOf = (id) => views.find((view) => view.ask.id === id);

  mark(firstOpen());
  return {
    asks,
    views,
    report,
    /** A key for the question at hand; once that one is answered the next open one is at hand. */
    press(key) {
      if (!atHand.press(key)) return report?.press(key) ?? false;
      show(isDone(atHand) ? firstOpen() : atHand);
      return true;
    },
    /** Focus the question at hand, then the ones after it (or, with -1, before it). False past the ends. */
    go(step) {
      const isInside = atHand.element.contains(document.activeElement);
      const target = step > 0 && !isInside ? atHand : views[views.indexOf(atHand) + step];
      if (!target) return false;
      show(target);
      target.focus();
      return true;
    },
    /** Mark what is wrong, {ask, part, text}, and go to the first of it. `ask` is null for codes and comment. */
    showProblems(problems) {
      clearProblems();
      for (const { ask, part, text } of problems) {
        if (ask === null) report?.showProblem(text);
        else viewOf(ask)?.showProblem(part, text);
      }
      const [first] = problems;
      if (first) (first.ask === null ? report : viewOf(first.ask))?.focus(first.part);
    },
    showTime() {
      for (const view of views) view.showTime();
    },
  };
}

/** One ask on the page: its main control and, where the protocol wants it, how sure the rater is. */
const KEY_OF_CHOICE = { A: "A", B: "B", tie: "T", both_bad: "N" };
const KEY_OF_CORRECT = { 1: "Y", 0: "N" };
// Beyond the digits; and from so many points on, the labelled ones are listed below.
const KEY_OF_TEN = "T";
const MANY_POINTS = 8;

/**
 * `onChange(value)` gets the ask's whole value, {choice, value, confidence, text}. The view's `press(key)` answers a
 * key meant for this ask, `write(value)` restores a draft, `showProblem(part, text)` marks what is missing.
 */
function createAskView(ask, { language, t, glossary, position, onChange }) {
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

/** What a rater may add to any answer: feedback codes and a comment. */
const MAX_COMMENT = 4000;

/** `onChange({codes, comment})`; `press(key)` switches the code of that letter. Null where the protocol asks neither. */
function createReport(definition, { language, t, onChange }) {
  const codes = definition.codes ?? [];
  if (!codes.length && !definition.comment) return null;
  const boxes = codes.map((code) => h("input", { type: "checkbox", value: code.key, onchange: changed }));
  const area = definition.comment ? commentArea(changed) : null;
  const problem = h("p", { class: "problem", id: uniqueId("report-problem"), hidden: true });
  const element = h(
    "section",
    { class: "report card" },
    codes.length ? codeList() : null,
    area ? h("div", { class: "field" }, h("label", { for: area.id }, t("answer.comment")), area) : null,
    problem,
  );

  function codeList() {
    return h(
      "fieldset",
      { class: "choices codes", "aria-describedby": problem.id },
      h("legend", {}, t("answer.codes")),
      h("div", { class: "options" }, codes.map((code, index) => h("label", { class: "option" }, boxes[index], codeFace(code)))),
    );
  }

  function codeFace(code) {
    return h(
      "span",
      { class: "option-face" },
      h("span", { class: "option-value" }, code.key),
      h("span", { class: "option-label" }, inLanguage(code.title, language)),
      h("span", { class: "option-meaning" }, inLanguage(code.meaning, language)),
    );
  }

  function read() {
    return { codes: boxes.filter((box) => box.checked).map((box) => box.value), comment: area?.value ?? "" };
  }

  function changed() {
    onChange(read());
  }

  return {
    element,
    write(saved) {
      for (const box of boxes) box.checked = saved.codes.includes(box.value);
      if (area) area.value = saved.comment;
    },
    press(key) {
      const box = boxes.find(({ value }) => value.toUpperCase() === key.toUpperCase());
      if (!box) return false;
      box.checked = !box.checked;
      changed();
      return true;
    },
    focus: (part) => (part === "comment" && area ? area : boxes[0] ?? area).focus(),
    showProblem(text) {
      problem.textContent = text;
      problem.hidden = !text;
    },
  };
}

function commentArea(oninput) {
  return h("textarea", { id: uniqueId("comment"), rows: "2", dir: "auto", maxlength: MAX_COMMENT, oninput });
}
