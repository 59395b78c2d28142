/**
 * "Select all": one checkbox for the checkboxes that `data-boxes` selects. The element that `data-count` selects says how
 * many are chosen, in its own words: data-chosen="Chosen: {n}".
 */
import { fill } from "./texts.js";

export default function selectAll(label) {
  const all = label.querySelector("input");
  const boxes = [...document.querySelectorAll(label.dataset.boxes)];
  const count = label.dataset.count ? document.querySelector(label.dataset.count) : null;
  label.hidden = boxes.length === 0;
  const show = () => {
    all.checked = boxes.every((box) => box.checked);
    all.indeterminate = !all.checked && boxes.some((box) => box.checked);
    const n = boxes.filter((box) => box.checked).length;
    if (count) count.textContent = n ? fill(count.dataset.chosen, { n }) : "";
  };
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    show();
  });
  for (const box of boxes) box.addEventListener("change", show);
  show();
}
