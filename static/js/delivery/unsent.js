/** Unsent answers: their count, always in view, and a dialog that lists each with the reason. */
import { h } from "../page/dom.js";
import { fill, translate } from "../page/texts.js";
import { failureText, refusalText } from "./api.js";

const TITLES = {
  judgment: translate("Answer of {time}:"),
  revision: translate("Changed answer of {time}:"),
  review: translate("Blind judgment of {time}:"),
};

export function createUnsentList({ outbox, screen, language, onSendNow }) {
  const container = screen.part("unsaved");
  const dialog = document.getElementById("unsaved-dialog");
  const list = document.getElementById("unsaved-list");
  const othersNote = document.getElementById("unsaved-others");
  const chip = h("button", { type: "button", class: "tag unsent", onclick: open });
  const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
  let count = 0;
  document.getElementById("unsaved-send").addEventListener("click", onSendNow);

  /** A vote at its first attempt is not shown as unsent. */
  const isLate = ({ tries, refusal }) => tries > 0 || refusal;

  function open() {
    dialog.showModal();
    refresh();
  }

  async function refresh() {
    const [entries, nOthers] = await Promise.all([outbox.pending(), outbox.pendingOfOthers()]);
    count = entries.length;
    const isShown = entries.some(isLate) || nOthers > 0;
    chip.textContent = count ? translate("{count} unsaved", { count }) : translate("{count} unsaved of another account", { count: nOthers });
    if (isShown !== chip.isConnected) container.replaceChildren(...(isShown ? [chip] : []));
    if (!dialog.open) return;
    list.replaceChildren(...(entries.length ? entries.map(row) : [h("li", {}, translate("All your answers are saved."))]));
    othersNote.hidden = !nOthers;
    othersNote.textContent = translate("{count} more were given under another account on this browser. They go once that account signs in here.", { count: nOthers });
  }

  function row(entry) {
    const title = fill(TITLES[entry.kind], { time: clock.format(entry.createdAt) });
    const status = entry.refusal ? refusalText(entry.refusal) : entry.lastError ? failureText(entry.lastError) : translate("Sending…");
    return h("li", {}, h("strong", {}, title), " ", status, entry.refusal ? dismissButton(entry) : null);
  }

  /** A refused answer is removed only by a rater who has read why. */
  function dismissButton({ id }) {
    const onclick = async () => {
      await outbox.remove(id);
      refresh();
    };
    return h("button", { type: "button", class: "button", onclick }, translate("Understood"));
  }

  return {
    refresh,
    get count() {
      return count;
    },
  };
}
