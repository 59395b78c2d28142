/** Putting a word into a text where the caret is, with the spaces and commas people would type. Pure. */
export function insertWord(text, start, end, word) {
  const before = text.slice(0, start);
  const after = text.slice(end);
  const lead = before === "" || /[\s(“"「『，。、；：（]$/.test(before) ? "" : " ";
  const trail = after === "" || /^[\s,.;:!?)，。、；：！？）]/.test(after) ? "" : " ";
  const written = `${before}${lead}${word}${trail}`;
  return { text: written + after, caret: written.length };
}
