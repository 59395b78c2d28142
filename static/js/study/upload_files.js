/**
 * Upload of files or a folder, chosen or dropped, with its progress. The paths inside a folder are sent as fields of their
 * own: a form would send bare names. Without scripts the form uploads files without their folders.
 */
const MB = 1e6;

/** The selected files, as {file, path} each, without hidden ones. */
export function selectedFiles(fileInput, folderInput) {
  const files = folderInput?.files.length ? [...folderInput.files] : [...fileInput.files];
  return files
    .map((file) => ({ file, path: file.webkitRelativePath || file.name }))
    .filter(({ path }) => !path.split("/").some((part) => part.startsWith(".")));
}

/** The files of what was dropped, folders included, as {file, path} each. `entries` are FileSystemEntry objects. */
export async function droppedFiles(entries) {
  const found = [];
  for (const entry of entries) {
    if (entry.name.startsWith(".")) continue;
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      found.push({ file, path: entry.fullPath.replace(/^\//, "") });
    } else {
      found.push(...(await droppedFiles(await children(entry))));
    }
  }
  return found;
}

/** A folder's entries: the reader gives them in portions, the last of which is empty. */
async function children(folder) {
  const reader = folder.createReader();
  const all = [];
  for (;;) {
    const portion = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!portion.length) return all;
    all.push(...portion);
  }
}

/** What was chosen, in a line: the first name, how many more, how large. */
export function describeFiles(files, one, several) {
  if (!files.length) return "";
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  const size = bytes < MB / 10 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / MB).toFixed(1)} MB`;
  const values = { name: files[0].path, n: files.length - 1, size };
  return (files.length > 1 ? several : one).replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

export default function start(form) {
  const part = (name) => form.querySelector(`[data-part="${name}"]`);
  const [fileInput, folderInput, sendButton, problem] = ["file", "folder", "send", "problem"].map(part);
  const bar = part("progress");
  const text = part("progress-text");
  part("folder-field").hidden = !("webkitdirectory" in folderInput);
  let dropped = [];

  const currentFiles = () => (dropped.length ? dropped : selectedFiles(fileInput, folderInput));

  function showChosen() {
    part("chosen").textContent = describeFiles(
      currentFiles(),
      form.dataset.chosenOne,
      form.dataset.chosenSeveral,
    );
  }

  for (const [input, other] of [[fileInput, folderInput], [folderInput, fileInput]]) {
    input.addEventListener("change", () => {
      dropped = [];
      if (input.files.length) other.value = "";
      showChosen();
    });
  }

  part("drop-hint").hidden = false;
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("dragging");
  });
  form.addEventListener("dragleave", (event) => {
    if (!form.contains(event.relatedTarget)) form.classList.remove("dragging");
  });
  form.addEventListener("drop", async (event) => {
    event.preventDefault();
    form.classList.remove("dragging");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    dropped = await droppedFiles(entries);
    fileInput.value = folderInput.value = "";
    showChosen();
    if (dropped.length) sendButton.focus();
  });

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
    const files = currentFiles();
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
