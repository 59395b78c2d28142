/**
 * Files or a folder on their way to the server, with how far they are. The paths inside a folder are sent apart: a form
 * would send bare names. Without scripts the form sends one file by itself.
 */
const MB = 1e6;

/** What is chosen, as {file, path} each; hidden files, which nobody means to send, left out. */
export function chosen(file, folder) {
  const files = folder?.files.length ? [...folder.files] : [...file.files];
  return files
    .map((one) => ({ file: one, path: one.webkitRelativePath || one.name }))
    .filter(({ path }) => !path.split("/").some((part) => part.startsWith(".")));
}

export default function start(form) {
  const part = (name) => form.querySelector(`[data-part="${name}"]`);
  const [file, folder, send, problem] = ["file", "folder", "send", "problem"].map(part);
  const bar = part("progress");
  const text = part("progress-text");
  part("folder-field").hidden = !("webkitdirectory" in folder);
  file.addEventListener("change", () => file.files.length && (folder.value = ""));
  folder.addEventListener("change", () => folder.files.length && (file.value = ""));

  function busy(is) {
    send.disabled = is;
    part("progress-line").hidden = !is;
  }

  function say(sentence) {
    problem.textContent = sentence;
    problem.hidden = !sentence;
    if (sentence) busy(false);
  }

  function sent({ loaded, total }) {
    bar.value = loaded / total;
    const numbers = { done: (loaded / MB).toFixed(1), total: (total / MB).toFixed(1) };
    text.textContent =
      loaded < total ? text.dataset.text.replace(/\{(\w+)\}/g, (_, name) => numbers[name]) : text.dataset.then;
  }

  form.addEventListener("submit", (event) => {
    const files = chosen(file, folder);
    if (!files.length) return; // the server says what is missing
    event.preventDefault();
    // Said before hours of sending: the server may end the connection before its answer can be read.
    if (files.length > Number(form.dataset.mostFiles)) {
      say(form.dataset.tooManyFiles);
      return;
    }
    const body = new FormData();
    body.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
    for (const { file: one, path } of files) {
      body.append("path", path);
      body.append("file", one);
    }
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.responseType = "json";
    request.upload.addEventListener("progress", sent);
    request.addEventListener("load", () => {
      const { next, detail } = request.response ?? {};
      if (next) globalThis.location.assign(next);
      else say(detail || `HTTP ${request.status}`);
    });
    request.addEventListener("error", () => say(form.dataset.unreachable));
    say("");
    busy(true);
    request.send(body);
  });
}
