/** Listen before the vote: a meter under each clip, what is left by the submit button, and no vote before that. */
import { h } from "../page/dom.js";
import { meter, needsOf, secondsLeft, standing } from "./listening_needs.js";

/**
 * `given` holds the clips' rows, `line` the words by the submit button. `refusal()` says why a vote cannot be sent, and
 * focuses what would mend it; null when enough was heard. `onMended` follows once what was refused may be sent.
 */
export function createListenGate({ assignment, player, given, line, language, t, announce, onMended }) {
  const needs = needsOf(assignment);
  const rowOf = (name) => given.querySelector(`[data-clip="${name}"]`);
  const called = ({ label, field }) => label ?? t(`content.${field}`);
  const meterOf = (clip) => createMeter({ title: t("listen.meter_of", { clip: called(clip) }), t });
  const meters = new Map(needs.clips.map((clip) => [clip.name, meterOf(clip)]));
  const done = new Set();
  let refused = false;

  for (const [name, { element }] of meters) rowOf(name)?.append(element);
  for (const type of ["heard", "change"]) player.addEventListener(type, show);
  line.hidden = needs.clips.length === 0 && needs.switches === 0;
  show();

  function now() {
    return standing(needs, { heardSeconds: player.heardSeconds, switches: player.switches });
  }

  function show() {
    const state = now();
    for (const clip of state.clips) {
      meters.get(clip.name).show(clip);
      if (clip.enough && !done.has(clip.name)) {
        done.add(clip.name);
        announce(t("listen.enough_of", { clip: called(clip) }));
      }
    }
    const text = state.enough ? t("listen.enough") : sentence(state);
    if (line.textContent !== text) line.textContent = text;
    line.classList.toggle("done", state.enough);
    if (state.enough && refused) onMended();
    if (state.enough) refused = false;
  }

  /** In words, also which clip by which amount; empty when a vote may be sent. */
  function sentence(state = now()) {
    const left = state.clips.filter(({ enough }) => !enough);
    const what = left.map((clip) => t("listen.seconds_of", { seconds: secondsLeft(clip), clip: called(clip) }));
    const parts = [];
    if (what.length) parts.push(t("listen.left", { what: new Intl.ListFormat(language).format(what) }));
    if (state.switchesLeft === 1) parts.push(t("listen.switch_once"));
    else if (state.switchesLeft) parts.push(t("listen.switch_more", { count: state.switchesLeft }));
    return parts.join(" ");
  }

  /** The words stand by the button already; whoever cannot see them hears them. */
  function point() {
    announce(sentence());
    const missing = now().clips.find(({ enough }) => !enough);
    (missing ? rowOf(missing.name)?.querySelector("button") : given.querySelector(".switch"))?.focus();
  }

  function refusal() {
    refused = !now().enough;
    if (!refused) return null;
    return { text: t("listen.refused"), focus: point };
  }

  return { refusal };
}

/** One line that keeps its height: a bar and words, then a tick. */
function createMeter({ title, t }) {
  const bar = h("progress", { max: "1", value: "0", "aria-label": title });
  const words = h("span", { class: "number" });
  const element = h("div", { class: "listen-meter small soft" }, bar, words);
  return {
    element,
    show({ heard, wanted, enough }) {
      bar.value = enough ? 1 : heard / wanted;
      element.classList.toggle("done", enough);
      const text = enough ? t("listen.meter_done") : t("listen.meter", meter({ heard, wanted }));
      if (words.textContent !== text) words.textContent = text;
    },
  };
}
