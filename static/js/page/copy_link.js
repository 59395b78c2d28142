/** Copy button for the text of a read-only field. Without a clipboard (plain http) the text is selected for Ctrl+C. */
export default function start(element) {
  const field = element.querySelector("input");
  const button = element.querySelector("button");
  const status = element.querySelector("[role=status]");
  button.hidden = false;
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      status.textContent = status.dataset.copied;
    } catch {
      status.textContent = status.dataset.failed;
    }
  });
}
