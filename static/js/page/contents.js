/**
 * Contents at the side of a long page: marks the entry of the part that is being read, and follows it. Beside the page the
 * list is always open (contents.css); where it stands above the page, on a phone, it folds and closes when an entry is chosen.
 */
export default function start(nav) {
  const details = nav.querySelector("details");
  const beside = matchMedia("(min-width: 64rem)");
  const fold = () => {
    details.open = beside.matches;
  };
  fold();
  beside.addEventListener("change", fold);

  const parts = [...nav.querySelectorAll('a[href^="#"]')]
    .map((link) => ({ link, target: document.getElementById(decodeURIComponent(link.hash.slice(1))) }))
    .filter((part) => part.target);
  if (parts.length === 0) return;
  for (const { link } of parts) {
    link.addEventListener("click", () => {
      if (!beside.matches) details.open = false;
    });
  }

  let current = null;
  const mark = () => {
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const begun = parts.filter((part) => part.target.getBoundingClientRect().top < innerHeight / 3);
    const next = scrollY === 0 ? parts[0] : atEnd ? parts.at(-1) : (begun.at(-1) ?? parts[0]);
    if (next === current) return;
    current?.link.removeAttribute("aria-current");
    current = next;
    current.link.setAttribute("aria-current", "location");
    if (beside.matches) keepInView(nav, current.link);
  };
  let waiting = false;
  const markSoon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      mark();
    });
  };
  addEventListener("scroll", markSoon, { passive: true });
  addEventListener("resize", markSoon);
  mark();
}

/** Scrolls the list alone, never the page. */
function keepInView(nav, link) {
  const [frame, entry] = [nav.getBoundingClientRect(), link.getBoundingClientRect()];
  if (entry.top < frame.top) nav.scrollTop -= frame.top - entry.top + entry.height;
  else if (entry.bottom > frame.bottom) nav.scrollTop += entry.bottom - frame.bottom + entry.height;
}
