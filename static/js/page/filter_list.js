/** List filter: shows the items that contain all words of the search field, and the groups with any such item. */
export default function start(element) {
  const field = element.querySelector("input[type=search]");
  const status = element.querySelector("[role=status]");
  const items = [...element.querySelectorAll("[data-filter]")].map((item) => [item, item.dataset.filter.toLowerCase()]);
  const groups = [...element.querySelectorAll("[data-filter-group]")];
  field.parentElement.hidden = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const [item, text] of items) item.hidden = !words.every((word) => text.includes(word));
    for (const group of groups) group.hidden = !group.querySelector("[data-filter]:not([hidden])");
    status.textContent = groups.every((group) => group.hidden) ? status.dataset.none : "";
  });
}
