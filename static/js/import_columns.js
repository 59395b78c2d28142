/**
 * The lines that say what a table's columns hold. When a CSV or JSONL file is chosen, each column whose name is not
 * one of the known fields gets a line of its own; more can be added by hand. Without scripts there is one line.
 */
const HEAD_BYTES = 65536;

export function csvHeader(text) {
  const cells = [];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const mark = text[i];
    if (quoted) {
      if (mark !== '"') cell += mark;
      else if (text[i + 1] === '"') cell += text[++i];
      else quoted = false;
    } else if (mark === '"') quoted = true;
    else if (mark === "," || mark === "\n" || mark === "\r") {
      cells.push(cell);
      cell = "";
      if (mark !== ",") return cells;
    } else cell += mark;
  }
  return [...cells, cell];
}

export function jsonlHeader(text) {
  const end = text.indexOf("\n");
  try {
    return Object.keys(JSON.parse(end < 0 ? text : text.slice(0, end)));
  } catch {
    return []; // the import says what is wrong with it
  }
}

export default function start(element) {
  const rows = element.querySelector(".column-rows");
  const total = element.querySelector("input[name$=TOTAL_FORMS]");
  const template = element.querySelector("template");
  const more = element.querySelector("button");
  const known = new Set(
    [...template.content.querySelectorAll("option")].map((option) => option.value).filter((value) => value.length > 1),
  );

  const emptyRow = () => [...rows.querySelectorAll("input")].find((input) => input.value === "");
  const addRow = () => {
    const holder = document.createElement("div");
    holder.innerHTML = template.innerHTML.replaceAll("__prefix__", total.value);
    total.value = Number(total.value) + 1;
    return rows.appendChild(holder.firstElementChild).querySelector("input");
  };

  more.hidden = false;
  more.addEventListener("click", () => addRow().focus());

  const chosen = document.getElementById(element.dataset.file);
  const ask = async () => {
    const file = chosen.files[0];
    const read = { csv: csvHeader, jsonl: jsonlHeader }[file?.name.split(".").pop().toLowerCase()];
    if (!read) return;
    const text = (await file.slice(0, HEAD_BYTES).text()).replace(/^\ufeff/, "");
    const there = new Set([...rows.querySelectorAll("input")].map((input) => input.value));
    for (const column of read(text)) {
      if (known.has(column) || column.startsWith("stratum.") || there.has(column)) continue;
      (emptyRow() ?? addRow()).value = column;
    }
  };
  chosen.addEventListener("change", ask);
  ask(); // the file may have been chosen before this script came
}
