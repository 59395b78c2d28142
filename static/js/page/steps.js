/** Steps through a list by keys: the element `step` after the one at hand; from outside the list, its first or last. */
export function stepTo(elements, at, step) {
  const place = elements.indexOf(at);
  if (place < 0) return elements.at(step > 0 ? 0 : -1) ?? null;
  return elements[place + step] ?? null;
}
