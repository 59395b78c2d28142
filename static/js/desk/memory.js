/**
 * What an expert has typed about an item, kept in this tab until it is saved: a reload, a lost claim or a version that
 * changed meanwhile loses none of it. Pure but for the storage.
 */
export function createMemory(storage, name) {
  const quietly = (work) => {
    try {
      return work();
    } catch {
      return null; // storage full, or switched off: the page works on without it
    }
  };
  return {
    /**
     * {texts: {field: text}, drafts: {field: id}, reason, comment, rewrite}; null where nothing was typed. Of the drafts
     * only those that `isOpen(field, id)`: a later case of the item has others.
     */
    read: (isOpen) => quietly(() => withOpen(isOpen, JSON.parse(storage.getItem(name)))),
    write: (typed) => quietly(() => storage.setItem(name, JSON.stringify(typed))),
    forget: () => quietly(() => storage.removeItem(name)),
  };
}

function withOpen(isOpen, typed) {
  if (!typed) return typed;
  const open = Object.entries(typed.drafts ?? {}).filter(([field, id]) => isOpen(field, id));
  return { ...typed, drafts: Object.fromEntries(open) };
}
