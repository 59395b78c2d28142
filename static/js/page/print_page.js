/** Print button, where the browser prints. */
export default function start(button) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}
