/** "Select all": one checkbox for the checkboxes that `data-boxes` selects. */
export default function selectAll(label) {
  const all = label.querySelector("input");
  const boxes = [...document.querySelectorAll(label.dataset.boxes)];
  label.hidden = boxes.length === 0;
  const show = () => {
    all.checked = boxes.every((box) => box.checked);
    all.indeterminate = !all.checked && boxes.some((box) => box.checked);
  };
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
  });
  for (const box of boxes) box.addEventListener("change", show);
  show();
}
