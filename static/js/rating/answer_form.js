/** Answer form: a task's questions and feedback as one form, with the current question, the draft and validation errors. */
import { h, uniqueId } from "../page/dom.js";
import { inLanguage, translate } from "../page/texts.js";
import { createChoices, createNumberAnswer, createSliderAnswer, createTextAnswer } from "./answer_controls.js";
import { isComplete } from "./answers.js";
import { CANDIDATE_LABELS, choicesOf, confidenceIsRequired, isRequired, pointsOf, questionInstances } from "./protocol.js";

const CHOICES = {
  tie: translate("Tie"),
  both_bad: translate("Both bad"),
};

/**
 * `draft` is restored at the start and updated with every entry; `onChange()` follows each update. Work begins at the first
 * incomplete question, a revision at the first of all.
 */
export function createAnswerForm({ definition, nCandidates, draft, language, position, onChange, isRevision = false }) {
  const instances = questionInstances(definition, nCandidates);
  const views = instances.map(createView);
  const feedback = createFeedback(definition, { language, onChange: onFeedback });
  feedback?.restore(draft);
  let current = null;

  function createView(instance) {
    const glossary = definition.glossary ?? [];
    const view = createQuestionView(instance, { language, glossary, position, onChange: (value) => onEntered(view, value) });
    if (draft.values[instance.id]) view.restore(draft.values[instance.id]);
    view.element.addEventListener("focusin", () => setCurrent(view));
    return view;
  }

  function onEntered(view, value) {
    draft.values[view.instance.id] = value;
    view.clearProblems();
    onChange();
  }

  function onFeedback({ codes, comment }) {
    draft.codes = codes;
    draft.comment = comment;
    clearProblems(); // a code may excuse from a question
    onChange();
  }

  function setCurrent(view) {
    current = view;
    for (const other of views) other.element.classList.toggle("at-hand", other === view);
  }

  function show(view) {
    setCurrent(view);
    view.element.scrollIntoView({ block: "nearest" });
  }

  function clearProblems() {
    for (const view of views) view.clearProblems();
    feedback?.showProblem("");
  }

  const isDone = (view) => isComplete(view.instance, draft.values[view.instance.id]);
  const firstIncomplete = () => views.find((view) => !isDone(view));
  const viewOf = (id) => views.find((view) => view.instance.id === id);

  setCurrent(isRevision ? views[0] : (firstIncomplete() ?? views.at(-1)));
  return {
    instances,
    views,
    feedback,
    /**
     * A key press for the current question; once that one is complete, the first incomplete one becomes current. Where an
     * answer is only changed, its question stays current.
     */
    press(key) {
      const wasDone = isDone(current);
      if (!current.press(key)) return feedback?.press(key) ?? false;
      const goesOn = !wasDone && isDone(current);
      show((goesOn && firstIncomplete()) || current);
      return true;
    },
    /** Focus the current question, then the ones after it (or, with -1, before it). False past the ends. */
    go(step) {
      const isInside = current.element.contains(document.activeElement);
      const target = step > 0 && !isInside ? current : views[views.indexOf(current) + step];
      if (!target) return false;
      show(target);
      target.focus();
      return true;
    },
    /** Show validation errors, {instanceId, part, text}, and focus the first; `instanceId` is null for codes and comment. */
    showProblems(problems) {
      clearProblems();
      for (const { instanceId, part, text } of problems) {
        if (instanceId === null) feedback?.showProblem(text);
        else viewOf(instanceId)?.showProblem(part, text);
      }
      const [first] = problems;
      if (first) (first.instanceId === null ? feedback : viewOf(first.instanceId))?.focus(first.part);
    },
    showTime() {
      for (const view of views) view.showTime();
    },
  };
}

// ── A question: its main control and, where the protocol has one, its confidence scale ──

const KEY_OF_CHOICE = { A: "A", B: "B", tie: "T", both_bad: "N" };
const KEY_OF_VERDICT = { 1: "Y", 0: "N" };
const KEY_OF_TEN = "T"; // a digit cannot say it
const MANY_POINTS = 8; // from so many on, labels are listed below the scale

/**
 * `onChange(value)` gets the whole value of the question instance, {choice, value, confidence, text}. The view's
 * `press(key)` enters an answer by its key, `restore(value)` a draft's; `showProblem(part, text)` shows a validation error.
 */
function createQuestionView(instance, { language, glossary, position, onChange }) {
  const { question } = instance;
  const value = {};
  const main = mainControl();
  const confidence = question.confidence ? confidenceControl() : null;
  const clear = canBeCleared(question) ? clearButton(() => main.clear()) : null;
  const element = h("section", { class: "ask card", "data-ask": instance.id }, main.element, clear, confidence?.element);

  function enter(part, entered) {
    if (entered === undefined) delete value[part];
    else value[part] = entered;
    showClear();
    onChange({ ...value });
  }

  function mainControl() {
    const common = { legend: titleOf(instance, language), help: inLanguage(question.help, language), required: isRequired(question) };
    if (question.kind === "preference") {
      const options = choicesOf(question).map((choice) => choiceOption(choice));
      return createChoices({ ...common, look: "pair", options, onChange: (choice) => enter("choice", choice) });
    }
    if (question.kind === "text") {
      const maxLength = question.max_length ?? 2000;
      return createTextAnswer({ ...common, maxLength, glossary, language, position, onChange: (text) => enter("text", text) });
    }
    const onChangeValue = (number) => enter("value", number);
    const points = pointsOf(question);
    if (question.kind === "correctness") {
      return createChoices({ ...common, look: "pair verdict", options: verdictOptions(points, language), onChange: onChangeValue });
    }
    if (points.length) {
      const options = pointOptions(points, language);
      const listed = points.length >= MANY_POINTS;
      return createChoices({ ...common, look: classOfScale(points), options, listed, onChange: onChangeValue });
    }
    const { minimum, maximum } = question;
    if (question.bands?.length) {
      const bands = question.bands.map((band) => ({ ...band, label: inLanguage(band.label, language) }));
      return createSliderAnswer({ ...common, minimum, maximum, bands, onChange: onChangeValue });
    }
    const range = translate("A number from {least} to {most}", { least: minimum, most: maximum });
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

  /** Digits answer the scale, then the confidence; where the choices have letters, digits answer the confidence. */
  function pressDigit(digit) {
    if (question.kind === "preference" && !confidence) return false;
    const mainFirst = question.kind !== "preference" && value.value === undefined;
    return (confidence && !mainFirst ? confidence : main).press(digit);
  }

  function pressVerdict(key) {
    const value = Object.keys(KEY_OF_VERDICT).find((each) => KEY_OF_VERDICT[each] === key);
    return value !== undefined && main.press(Number(value));
  }

  return {
    instance,
    element,
    restore(saved) {
      Object.assign(value, saved);
      const entered = saved.choice ?? saved.value ?? saved.text;
      if (entered !== undefined) main.restore(entered);
      if (saved.confidence !== undefined) confidence?.restore(saved.confidence);
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

function canBeCleared(question) {
  return question.kind !== "text" && (!isRequired(question) || Boolean(question.excused_by?.length));
}

function titleOf({ question, position }, language) {
  const title = inLanguage(question.title, language);
  return position === null ? title : `${CANDIDATE_LABELS[position]}: ${title}`;
}

/** Points with meanings get lines of their own, with labels some width, bare numbers little. */
function classOfScale(points) {
  if (points.some(({ meaning }) => meaning)) return "scale rows";
  if (points.length >= MANY_POINTS) return "scale bare";
  return points.some(({ label }) => label) ? "scale" : "scale bare";
}

function choiceOption(choice) {
  if (choice.length === 1) return { value: choice, face: choice };
  return { value: choice, face: CHOICES[choice], key: KEY_OF_CHOICE[choice] };
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

/** Correct or not: shown in words, with both keys. */
function verdictOptions(points, language) {
  return points.map(({ value, label, meaning }) => ({
    value,
    face: inLanguage(label, language) || String(value),
    meaning: inLanguage(meaning, language),
    key: KEY_OF_VERDICT[value],
  }));
}

function clearButton(onclick) {
  return h("button", { type: "button", class: "plain-button clear", hidden: true, onclick }, translate("Clear"));
}

// ── Feedback: codes and a comment ───────────────────────────────────────────

const MAX_COMMENT = 4000;

/** `onChange({codes, comment})`; `press(key)` toggles the code of that letter. Null where the protocol has neither. */
function createFeedback(definition, { language, onChange }) {
  const codes = definition.codes ?? [];
  if (!codes.length && !definition.comment) return null;
  const checkboxes = codes.map((code) => h("input", { type: "checkbox", value: code.key, onchange: onInput }));
  const commentField = definition.comment ? createCommentField(onInput) : null;
  const problem = h("p", { class: "problem", id: uniqueId("report-problem"), hidden: true });
  const element = h(
    "section",
    { class: "report card" },
    codes.length ? codeList() : null,
    commentField ? h("div", { class: "field" }, h("label", { for: commentField.id }, translate("Comment")), commentField) : null,
    problem,
  );

  function codeList() {
    return h(
      "fieldset",
      { class: "choices codes", "aria-describedby": problem.id },
      h("legend", {}, translate("Anything to report?")),
      h(
        "div",
        { class: "options" },
        codes.map((code, index) => h("label", { class: "option" }, checkboxes[index], codeFace(code))),
      ),
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
    const checked = checkboxes.filter((checkbox) => checkbox.checked);
    return { codes: checked.map(({ value }) => value), comment: commentField?.value ?? "" };
  }

  function onInput() {
    onChange(read());
  }

  return {
    element,
    restore(saved) {
      for (const checkbox of checkboxes) checkbox.checked = saved.codes.includes(checkbox.value);
      if (commentField) commentField.value = saved.comment;
    },
    press(key) {
      const checkbox = checkboxes.find(({ value }) => value.toUpperCase() === key.toUpperCase());
      if (!checkbox) return false;
      checkbox.checked = !checkbox.checked;
      onInput();
      return true;
    },
    focus: (part) => (part === "comment" && commentField ? commentField : checkboxes[0] ?? commentField).focus(),
    showProblem(text) {
      problem.textContent = text;
      problem.hidden = !text;
    },
  };
}

function createCommentField(oninput) {
  return h("textarea", { id: uniqueId("comment"), rows: "2", dir: "auto", maxlength: MAX_COMMENT, oninput });
}
