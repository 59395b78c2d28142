/** DOM elements made in one expression: h("p", {class: "soft", onclick: f}, "text", child, null). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A unique id for an element or a radio group: a page renders several tasks one after the other. */
let lastId = 0;
export function uniqueId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** An SVG icon of one path on a 24 by 24 grid; `show` changes it. Hidden from screen readers. */
export function icon(shape) {
  const namespace = "http://www.w3.org/2000/svg";
  const element = document.createElementNS(namespace, "svg");
  const path = document.createElementNS(namespace, "path");
  element.setAttribute("viewBox", "0 0 24 24");
  element.setAttribute("class", "icon");
  element.setAttribute("aria-hidden", "true");
  element.append(path);
  const show = (to) => path.setAttribute("d", to);
  show(shape);
  return { element, show };
}
