/**
 * Upload of files or a folder, with its progress. The paths inside a folder are sent as fields of their own: a form would
 * send bare names. Without scripts the form uploads a single file.
 */
const MB = 1e6;

/** The selected files, as {file, path} each, without hidden ones. */
export function selectedFiles(fileInput, folderInput) {
  const files = folderInput?.files.length ? [...folderInput.files] : [...fileInput.files];
  return files
    .map((file) => ({ file, path: file.webkitRelativePath || file.name }))
    .filter(({ path }) => !path.split("/").some((part) => part.startsWith(".")));
}

export default function start(form) {
  const part = (name) => form.querySelector(`[data-part="${name}"]`);
  const [fileInput, folderInput, sendButton, problem] = ["file", "folder", "send", "problem"].map(part);
  const bar = part("progress");
  const text = part("progress-text");
  part("folder-field").hidden = !("webkitdirectory" in folderInput);
  fileInput.addEventListener("change", () => fileInput.files.length && (folderInput.value = ""));
  folderInput.addEventListener("change", () => folderInput.files.length && (fileInput.value = ""));

  function setBusy(isBusy) {
    sendButton.disabled = isBusy;
    part("progress-line").hidden = !isBusy;
  }

  function showProblem(message) {
    problem.textContent = message;
    problem.hidden = !message;
    if (message) setBusy(false);
  }

  function showProgress({ loaded, total }) {
    bar.value = loaded / total;
    const numbers = { done: (loaded / MB).toFixed(1), total: (total / MB).toFixed(1) };
    text.textContent =
      loaded < total ? text.dataset.text.replace(/\{(\w+)\}/g, (_, name) => numbers[name]) : text.dataset.then;
  }

  form.addEventListener("submit", (event) => {
    const files = selectedFiles(fileInput, folderInput);
    if (!files.length) return; // the server's validation names what is missing
    event.preventDefault();
    // Checked before a long upload: the server may close the connection before its response can be read.
    if (files.length > Number(form.dataset.mostFiles)) {
      showProblem(form.dataset.tooManyFiles);
      return;
    }
    const body = new FormData();
    body.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
    for (const { file, path } of files) {
      body.append("path", path);
      body.append("file", file);
    }
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.responseType = "json";
    request.upload.addEventListener("progress", showProgress);
    request.addEventListener("load", () => {
      const { next, detail } = request.response ?? {};
      if (next) globalThis.location.assign(next);
      else showProblem(detail || `HTTP ${request.status}`);
    });
    request.addEventListener("error", () => showProblem(form.dataset.unreachable));
    showProblem("");
    setBusy(true);
    request.send(body);
  });
}
