/** How many answers are not with the server yet, always in view; and a list that says what waits, and why. */
import { h } from "../page/dom.js";
import { reason, refusal } from "../rating/submission.js";

export function createUnsaved({ outbox, screen, t, language, onSendNow }) {
  const place = screen.part("unsaved");
  const dialog = document.getElementById("unsaved-dialog");
  const list = document.getElementById("unsaved-list");
  const others = document.getElementById("unsaved-others");
  const chip = h("button", { type: "button", class: "tag unsent", onclick: open });
  const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
  let count = 0;
  document.getElementById("unsaved-send").addEventListener("click", onSendNow);

  /** A vote that is just being sent for the first time is no news. */
  const isLate = ({ tries, refusal: refused }) => tries > 0 || refused;

  function open() {
    dialog.showModal();
    refresh();
  }

  async function refresh() {
    const [entries, nOthers] = await Promise.all([outbox.waiting(), outbox.ofOthers()]);
    count = entries.length;
    const isShown = entries.some(isLate) || nOthers > 0;
    chip.textContent = t(count ? "unsaved.count" : "unsaved.others_count", { count: count || nOthers });
    if (isShown !== chip.isConnected) place.replaceChildren(...(isShown ? [chip] : []));
    if (!dialog.open) return;
    list.replaceChildren(...(entries.length ? entries.map(row) : [h("li", {}, t("unsaved.none"))]));
    others.hidden = !nOthers;
    others.textContent = t("unsaved.others", { count: nOthers });
  }

  function row(entry) {
    const title = t(`unsaved.${entry.kind}`, { time: clock.format(entry.createdAt) });
    const why = entry.refusal ? refusal(t, entry.refusal) : entry.lastError ? reason(t, entry.lastError) : t("sending.now");
    return h("li", {}, h("strong", {}, title), " ", why, entry.refusal ? understood(entry) : null);
  }

  /** Only somebody who has read it makes a refused answer go. */
  function understood({ id }) {
    const onclick = async () => {
      await outbox.forget(id);
      refresh();
    };
    return h("button", { type: "button", class: "button", onclick }, t("unsaved.understood"));
  }

  return {
    refresh,
    get count() {
      return count;
    },
  };
}
