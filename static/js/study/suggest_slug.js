/**
 * Suggests an address while a title is typed. Whatever the person writes into the address themself is left alone.
 * data-from and data-to hold the ids of the two fields. A title without Latin letters suggests nothing.
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
  let own = slug.value !== "" && slug.value !== slugOf(title.value);
  slug.addEventListener("input", () => {
    own = slug.value !== "";
  });
  const suggest = () => {
    if (!own) slug.value = slugOf(title.value);
  };
  title.addEventListener("input", suggest);
  suggest(); // the title may have been typed before this script came
}
