/** Elements made in one expression: h("p", {class: "soft", onclick: f}, "text", child, null). */
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

/** A number for ids and group names: several tasks are rendered in the life of one page. */
let made = 0;
export function uniqueId(prefix) {
  made += 1;
  return `${prefix}-${made}`;
}
