/**
 * Local time: shows a <time>, which the server writes in UTC, in the reader's time zone, in the same style: year first,
 * 24 hours; the time of day alone where the server gave no date. Fragments that htmx swaps in come in UTC again.
 */
const two = (number) => String(number).padStart(2, "0");

/** 2026-11-23 07:49, or 07:49, in the time zone of this browser. */
export function localText(moment, withDay) {
  const clock = `${two(moment.getHours())}:${two(moment.getMinutes())}`;
  const day = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
  return withDay ? `${day} ${clock}` : clock;
}

function show(element) {
  const inUtc = element.textContent.trim();
  if (!inUtc.endsWith("UTC")) return;
  element.title = inUtc;
  element.textContent = localText(new Date(element.dateTime), inUtc.includes("-"));
}

document.addEventListener("htmx:after:swap", () => {
  for (const element of document.querySelectorAll("time[data-module=local_time]")) show(element);
});

export default show;
