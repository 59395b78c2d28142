/**
 * Protocol editor: saves the draft while it is typed, shows each fault at its field, and keeps the preview beside it up to
 * date. Without this script the same form and buttons work, a page at a time.
 */
import { h } from "../page/dom.js";
import { translate } from "../page/texts.js";

const FOCUSABLE = "a, button, input, select, summary, textarea, [tabindex]";
const SAVE_AFTER_MS = 500;
const PREVIEW_AFTER_MS = 250;
const RETRY_MS = 5000;

export default function protocolEditor(form, { fetch = globalThis.fetch.bind(globalThis) } = {}) {
  const document = form.ownerDocument;
  const part = (name) => document.querySelector(`[data-part="${name}"]`);
  const preview = createPreview(part("preview"), part("preview-status"));
  const body = () => document.getElementById("editor-body");
  let timer = null;
  let isUnsaved = false;
  let isStuck = false; // the server refused to go on from here: nothing more is sent
  let typed = null; // while the server changes the form: what is typed meanwhile, by name
  let requests = Promise.resolve(); // one at a time: each names the revision that the one before made

  const status = (text, look = "") => {
    part("status").textContent = text;
    part("status").className = look || "soft";
  };

  /** The form as it is now, and the button pressed; null where the server could not be asked. */
  async function send(url, button, headers = {}) {
    const data = new FormData(form);
    if (button) data.set("do", button.value);
    // Signing in again, in another tab, changes the token.
    const token = /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1];
    if (token) data.set("csrfmiddlewaretoken", token);
    const request = { method: "POST", body: data, redirect: "manual", headers: { Accept: "application/json", ...headers } };
    try {
      const response = await fetch(url, request);
      if (response.type === "opaqueredirect" || response.status === 403) return signedOut();
      if (response.status === 409) return stuck((await response.json()).problem);
      if (!response.ok) throw new Error(`status ${response.status}`);
      return response;
    } catch (error) {
      console.warn(error);
      status(translate("Not saved: the server does not answer. Trying again…"), "problem");
      return null;
    }
  }

  function signedOut() {
    const link = h("a", { href: form.dataset.signIn, target: "_blank", rel: "noopener" }, translate("Sign in (in a new tab)"));
    part("status").className = "problem";
    part("status").replaceChildren(translate("Not saved: you are signed out. What you typed stays here."), " ", link);
    return null;
  }

  function stuck(problem) {
    isStuck = true;
    status(problem, "problem");
    return null;
  }

  function queue(work) {
    requests = requests.then(work, work);
    return requests;
  }

  function saveSoon(delay = SAVE_AFTER_MS) {
    clearTimeout(timer);
    if (!isStuck) timer = setTimeout(() => queue(save), delay);
  }

  async function save() {
    if (!isUnsaved || isStuck) return;
    isUnsaved = false;
    const response = await send(form.dataset.save);
    if (!response) {
      isUnsaved = true;
      return saveSoon(RETRY_MS);
    }
    const { revision, faults, shows } = await response.json();
    form.elements.revision.value = revision;
    showFaults(body(), faults);
    showSaved(faults.length);
    if (shows) preview.refresh();
  }

  function showSaved(n) {
    const time = new Date().toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit" });
    const saved = translate("Draft saved at {time}.", { time });
    status(saved);
    if (!n) return;
    const left = translate("Fields to correct: {n}.", { n });
    const toFirst = h("button", { type: "button", class: "plain-button problem", onclick: () => focusOn(firstFault()) }, left);
    part("status").append(" ", toFirst);
  }

  /** The field with the first fault. */
  function firstFault() {
    return body().querySelector(".e-faults .problem")?.closest("fieldset, .field, li, section, details");
  }

  /** What a button adds, moves or removes: the server answers with the form as it is then. */
  async function press(button) {
    clearTimeout(timer);
    isUnsaved = true;
    status(translate("Saving…"));
    // What moves takes other names with it: nothing can be typed until it has.
    const shifts = /^(up|down|remove|copy):/.test(button.value);
    body().inert = shifts;
    typed = new Map();
    const response = await send(form.action, button, { "X-Part": "body" });
    const meanwhile = typed;
    typed = null;
    body().inert = false;
    if (!response) return isStuck || saveSoon(RETRY_MS);
    isUnsaved = false;
    const open = new Set([...body().querySelectorAll("details")].filter((one) => one.open).map((one) => one.id));
    const closed = new Set([...body().querySelectorAll("details")].filter((one) => !one.open).map((one) => one.id));
    const html = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = document.importNode(html.getElementById("editor-body"), true);
    for (const details of fresh.querySelectorAll("details")) {
      if (open.has(details.id)) details.open = true;
      if (closed.has(details.id)) details.open = false;
    }
    body().replaceWith(fresh);
    for (const [id, { value, checked }] of meanwhile) {
      const field = document.getElementById(id);
      if (field) Object.assign(field, { value, checked });
    }
    if (meanwhile.size) {
      isUnsaved = true;
      saveSoon();
    }
    focusOn(document.getElementById(fresh.dataset.focus));
    const n = fresh.querySelectorAll(".e-faults .problem").length;
    showSaved(n);
    if (!n) preview.refresh();
  }

  function focusOn(element) {
    if (!element) return;
    let target = element;
    if (element.disabled) target = element.closest("li, section")?.querySelector("button:not(:disabled), input:not([type=hidden])");
    else if (!element.matches(FOCUSABLE)) target = element.querySelector("input:not([type=hidden]), select, textarea") ?? element;
    target?.closest("details")?.setAttribute("open", "");
    target?.focus();
    target?.scrollIntoView({ block: "nearest" });
  }

  form.addEventListener("input", (event) => {
    if (event.target.id === "e-language") return;
    if (event.target.matches("[data-condition]")) showAnswers(event.target);
    typed?.set(event.target.id, event.target);
    isUnsaved = true;
    saveSoon();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.tagName !== "INPUT" || event.target.type === "checkbox") return;
    event.preventDefault(); // Enter would press the first button of the form
    const own = event.target.id === "e-language" ? form.querySelector('[value="add_language:"]') : null;
    if (own) queue(() => press(own));
  });
  form.addEventListener("submit", (event) => {
    const button = event.submitter;
    event.preventDefault();
    if (button?.name === "do") return queue(() => press(button));
    isUnsaved = true;
    return queue(save);
  });
  // Publishing looks at the draft on the server: it is brought there first.
  for (const link of document.querySelectorAll('[data-part="publish"]')) {
    link.addEventListener("click", (event) => {
      if (!isUnsaved) return;
      event.preventDefault();
      clearTimeout(timer);
      queue(save).then(() => isUnsaved || globalThis.location.assign(link.href));
    });
  }
  globalThis.addEventListener("beforeunload", (event) => {
    if (isUnsaved) event.preventDefault();
  });
  return { save: () => queue(save) };
}

/** Each fault at the place that it names, or at the nearest around it. */
export function showFaults(body, faults) {
  const places = new Map([...body.querySelectorAll("[data-place]")].map((place) => [place.dataset.place, place]));
  for (const place of places.values()) place.replaceChildren();
  for (const [path, sentence] of faults) {
    let nearest = path;
    while (nearest && !places.has(nearest)) nearest = nearest.includes(".") ? nearest.slice(0, nearest.lastIndexOf(".")) : "";
    places.get(nearest)?.append(h("p", { class: "problem" }, sentence));
  }
}

/** The answers of the question that a condition is about. */
function showAnswers(select) {
  for (const group of select.closest("fieldset").querySelectorAll("[data-answers-of]")) {
    group.hidden = group.dataset.answersOf !== select.value;
  }
}

/** Two frames in turn: the next state is loaded behind the one that is seen, so that nothing flickers. */
function createPreview(frame, statusLine) {
  let shown = frame;
  let timer = null;
  let loading = null;

  function load() {
    loading?.remove();
    const next = shown.cloneNode();
    const top = shown.contentWindow?.scrollY ?? 0;
    next.classList.add("is-loading");
    next.setAttribute("aria-hidden", "true");
    next.tabIndex = -1;
    loading = next;
    next.addEventListener("load", () => {
      // The task is fetched after the page: what was seen stays until it is there.
      setTimeout(() => {
        if (loading !== next) return;
        next.classList.remove("is-loading");
        next.removeAttribute("aria-hidden");
        next.removeAttribute("tabindex");
        next.contentWindow?.scrollTo(0, top);
        shown.remove();
        shown = next;
        loading = null;
        statusLine.textContent = "";
      }, PREVIEW_AFTER_MS);
    }, { once: true });
    statusLine.textContent = translate("Updating…");
    shown.after(next);
  }

  return {
    refresh() {
      clearTimeout(timer);
      timer = setTimeout(load, PREVIEW_AFTER_MS);
    },
  };
}
