/**
 * Local time: shows a <time>, which the server writes in UTC, in the reader's time zone; the time of day alone where the
 * server gave no date. Fragments that htmx swaps in come in UTC again.
 */
function show(element) {
  const moment = new Date(element.dateTime);
  const clock = { hour: "2-digit", minute: "2-digit" };
  const day = { year: "numeric", month: "short", day: "numeric" };
  const format = element.textContent.includes("-") ? { ...day, ...clock } : clock;
  element.title = element.textContent.trim();
  element.textContent = new Intl.DateTimeFormat(document.documentElement.lang, format).format(moment);
}

document.addEventListener("htmx:after:swap", () => {
  for (const element of document.querySelectorAll("time[data-module=local_time]")) {
    if (element.textContent.endsWith("UTC")) show(element);
  }
});

export default show;
