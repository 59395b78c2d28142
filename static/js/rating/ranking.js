/**
 * Ranking: an ordered list of the candidates, the best first. Candidates are placed by their numbers one after the other,
 * by the button on each player's row, by the arrows of the list or by dragging. The same interface as the other answer
 * controls (answer_controls.js), and `rowControl(position)`, the button for a candidate's own row.
 */
import { h, icon, uniqueId } from "../page/dom.js";
import { translate } from "../page/texts.js";
import { showProblem } from "./answer_controls.js";
import { CANDIDATE_LABELS } from "./protocol.js";

const UP = "M12 6l7 8H5z";
const DOWN = "M12 18l7-8H5z";
const PLAY = "M7 4.5v15l13-7.5z";
const GRIP = "M9 5h2v3H9zM13 5h2v3h-2zM9 10.5h2v3H9zM13 10.5h2v3h-2zM9 16h2v3H9zM13 16h2v3h-2z";

const letterOf = (position) => CANDIDATE_LABELS[position];

/** `play(position)` plays a candidate, null where there is nothing to hear. `onChange(positions)`, the best first. */
export function createRanking({ legend, help, nCandidates, required, play, announce, onChange }) {
  const id = uniqueId("ranking");
  // Who has a place, the best first; the others wait below in the order shown.
  let placed = [];
  const problem = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
  const list = h("ol", { class: "ranking-list", "aria-label": legend });
  const rowButtons = Array.from({ length: nCandidates }, (_, position) => rowButton(position));
  const items = Array.from({ length: nCandidates }, (_, position) => createItem(position));
  const element = h(
    "div",
    {
      class: "ranking-answer",
      role: "group",
      tabindex: "-1",
      "aria-labelledby": `${id}-legend`,
      "aria-describedby": `${id}-help ${id}-problem`,
      "data-required": required ? "" : null,
    },
    h("p", { class: "legend", id: `${id}-legend` }, legend),
    h("p", { class: "help", id: `${id}-help` }, [help, translate("The best first: press the numbers in order, move with the arrows, or drag.")].filter(Boolean).join(" ")),
    list,
    problem,
  );

  const waiting = () => items.map((_, position) => position).filter((position) => !placed.includes(position));

  function createItem(position) {
    const clip = letterOf(position);
    const number = h("span", { class: "place number" });
    const button = (shape, name, onclick) => h("button", { type: "button", class: "button icon-button", "aria-label": name, onclick }, icon(shape).element);
    const up = button(UP, translate("Move {clip} up", { clip }), () => move(position, -1));
    const down = button(DOWN, translate("Move {clip} down", { clip }), () => move(position, 1));
    const handle = h("span", { class: "grip", "aria-hidden": "true", title: translate("Drag") }, icon(GRIP).element);
    const item = h(
      "li",
      { "data-position": position, onkeydown: (event) => onArrow(event, position) },
      handle,
      number,
      h("span", { class: "clip-mark" }, clip),
      play ? button(PLAY, translate("Play {clip}", { clip }), () => play(position)) : null,
      h("span", { class: "ranking-moves" }, up, down),
    );
    handle.addEventListener("pointerdown", (event) => drag(event, position));
    return { item, number, up, down };
  }

  function rowButton(position) {
    return h("button", { type: "button", class: "rank-badge", onclick: () => toggle(position) });
  }

  /** The next place for a candidate; or, for one that has a place, out again. The last one left gets the last place. */
  function toggle(position) {
    if (placed.includes(position)) return set(placed.filter((each) => each !== position), position);
    const next = [...placed, position];
    set(next.length === nCandidates - 1 ? [...next, ...items.keys()].filter((each, index, all) => all.indexOf(each) === index) : next, position);
  }

  function move(position, step) {
    const index = placed.indexOf(position);
    if (index < 0) return step < 0 ? toggle(position) : undefined;
    const to = index + step;
    if (to < 0 || to >= placed.length) return;
    const next = placed.filter((each) => each !== position);
    next.splice(to, 0, position);
    set(next, position);
    const { up, down } = items[position];
    (step < 0 ? (up.disabled ? down : up) : down.disabled ? up : down).focus({ preventScroll: true });
  }

  function onArrow(event, position) {
    if (!["ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    move(position, event.key === "ArrowUp" ? -1 : 1);
  }

  function set(next, about) {
    placed = next;
    show();
    announce?.(sentenceOf(about));
    onChange(placed.length ? [...placed] : undefined);
  }

  function sentenceOf(position) {
    const place = placed.indexOf(position) + 1;
    return place ? translate("{clip} has place {n} of {total}.", { clip: letterOf(position), n: place, total: nCandidates }) : translate("{clip} has no place.", { clip: letterOf(position) });
  }

  function show() {
    const order = [...placed, ...waiting()];
    // Moving an element takes its focus away: only those that stand wrong are moved.
    order.forEach((position, index) => {
      if (list.children[index] !== items[position].item) list.insertBefore(items[position].item, list.children[index] ?? null);
    });
    for (const position of order) {
      const place = placed.indexOf(position) + 1;
      const { item, number, up, down } = items[position];
      number.textContent = place || "–";
      item.classList.toggle("unplaced", !place);
      up.disabled = place === 1;
      down.disabled = !place || place === placed.length;
      const badge = rowButtons[position];
      badge.textContent = place || "–";
      badge.classList.toggle("placed", place > 0);
      badge.setAttribute("aria-label", `${sentenceOf(position)} ${place ? translate("Take it out") : translate("Place it next")}`);
    }
  }

  /** Dragging by the handle. The others move round the item: one that leaves the page for a moment loses the pointer. */
  function drag(event, position) {
    const { item } = items[position];
    event.preventDefault();
    item.classList.add("dragged");
    const dragging = new AbortController();
    const { signal } = dragging;
    const onMove = ({ clientY }) => {
      const others = [...list.children].filter((each) => each !== item);
      const above = others.filter((each) => clientY >= each.getBoundingClientRect().top + each.offsetHeight / 2);
      for (const other of others) if (above.includes(other)) list.insertBefore(other, item);
      for (const other of others) if (!above.includes(other)) list.append(other);
    };
    const onEnd = () => {
      dragging.abort();
      item.classList.remove("dragged");
      const next = placed.filter((each) => each !== position);
      next.splice([...list.children].indexOf(item), 0, position);
      set(next.length === nCandidates - 1 ? [...next, ...waiting().filter((each) => !next.includes(each))] : next, position);
    };
    document.addEventListener("pointermove", onMove, { signal });
    for (const type of ["pointerup", "pointercancel"]) document.addEventListener(type, onEnd, { signal });
  }

  show();
  return {
    element,
    staysAtHand: true,
    rowControl: (position) => rowButtons[position],
    restore(positions) {
      placed = [...positions];
      show();
    },
    clear() {
      placed = [];
      show();
      onChange(undefined);
    },
    press(digit) {
      if (digit < 1 || digit > nCandidates) return false;
      toggle(digit - 1);
      return true;
    },
    focus: () => element.focus(), // not a button: there Enter would move a candidate, and here it goes on
    showProblem: (text) => showProblem(problem, text, [list]),
  };
}
