/**
 * Starts the behaviours a page asks for. An element with data-module="player" gets the default export of
 * ./player.js called with it. A module that fails says so on the page: a dead control that looks alive is worse.
 */
for (const element of document.querySelectorAll("[data-module]")) {
  import(`./${element.dataset.module}.js`)
    .then((module) => module.default(element))
    .catch((error) => {
      console.error(error);
      const notice = document.getElementById("script-failed");
      if (notice) notice.hidden = false;
    });
}
