/**
 * Messages of the server, shown over the foot of the window, where they move nothing. Each has a button that closes it. What
 * only confirms goes by itself after a while, unless the pointer or the focus is on it; problems stay.
 */
const STAYS_MS = 8000;

export default function start(region) {
  for (const message of region.querySelectorAll(".notice")) {
    const close = message.querySelector("button");
    close.hidden = false;
    close.addEventListener("click", () => message.remove());
    if (message.matches(".error, .warning")) continue;
    setTimeout(function leave() {
      if (message.matches(":hover, :focus-within")) setTimeout(leave, 1000);
      else message.remove();
    }, STAYS_MS);
  }
}
