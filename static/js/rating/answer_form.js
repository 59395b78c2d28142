/** Everything a task asks, as one form: which question is at hand, what has been entered, what is missing. */
import { isComplete } from "./answers.js";
import { createAskView } from "./question_view.js";
import { asksOf } from "./protocol.js";
import { createReport } from "./feedback.js";

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
