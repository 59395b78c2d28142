/**
 * Slug suggestion: fills in a study's address while its title is typed, until the user edits the address. data-from and
 * data-to hold the ids of the two fields. A title without Latin letters gives no suggestion.
 */
export function slugOf(title) {
  return title
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 80)
    .replace(/^-+|-+$/g, "");
}

export default function start(element) {
  const title = document.getElementById(element.dataset.from);
  const slug = document.getElementById(element.dataset.to);
  let isEdited = slug.value !== "" && slug.value !== slugOf(title.value);
  slug.addEventListener("input", () => {
    isEdited = slug.value !== "";
  });
  const suggest = () => {
    if (!isEdited) slug.value = slugOf(title.value);
  };
  title.addEventListener("input", suggest);
  suggest(); // the title may have been typed before this script was loaded
}
