/** Scrolls a row of tabs that is wider than the window so that the current one is in view. */
export default function start(row) {
  const current = row.querySelector("[aria-current]");
  if (!current || row.scrollWidth <= row.clientWidth) return;
  const beside = (row.clientWidth - current.offsetWidth) / 2;
  row.scrollLeft += current.getBoundingClientRect().left - row.getBoundingClientRect().left - beside;
}
