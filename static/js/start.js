/**
 * Entry module of every page: starts the modules that the page asks for. For an element with data-module="desk" the
 * default export of the module that MODULES names is called with the element. When a module fails, the page shows it.
 *
 *   page/      what any page may use: DOM elements, texts, browser storage, small behaviours
 *   player/    audio engine, mixer, clip loader and cache, waveform, spectrogram, listening log
 *   keys/      keyboard shortcuts: key map, key dialog, the actions of a task
 *   delivery/  API client, drafts, outbox, sender with retry, lock and channel between tabs
 *   rating/    workbench: task queue, current task, answer form, listening gate, submission, breaks; listening checks
 *   desk/      review desk: blind judgment, corrections, decisions, review queue
 *   data/      tables of a study's data, and the clips in their rows
 *   study/     forms of study pages: uploads, slugs, the protocol editor
 */
const MODULES = {
  blind: "./desk/blind.js",
  clip_panel: "./data/clip_panel.js",
  bulk_bar: "./data/bulk_bar.js",
  clips: "./data/clips.js",
  contents: "./page/contents.js",
  data_panels: "./data/panels.js",
  data_table: "./data/table.js",
  copy_link: "./page/copy_link.js",
  desk: "./desk/desk.js",
  filter_list: "./page/filter_list.js",
  keep_edits: "./page/keep_edits.js",
  listening_checks: "./rating/listening_checks.js",
  local_time: "./page/local_time.js",
  messages: "./page/messages.js",
  open_target: "./page/open_target.js",
  print_page: "./page/print_page.js",
  protocol_editor: "./study/protocol_editor.js",
  queue_keys: "./desk/queue_keys.js",
  select_all: "./page/select_all.js",
  show_current: "./page/show_current.js",
  suggest_slug: "./study/suggest_slug.js",
  upload_files: "./study/upload_files.js",
  workbench: "./rating/workbench.js",
};

for (const element of document.querySelectorAll("[data-module]")) {
  import(MODULES[element.dataset.module])
    .then((module) => module.default(element))
    .catch((error) => {
      console.error(error);
      const notice = document.getElementById("script-failed");
      if (notice) notice.hidden = false;
    });
}
