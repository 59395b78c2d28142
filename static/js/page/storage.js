/**
 * Browser storage (localStorage, sessionStorage) that may be full, forbidden or absent: then reading gives null and writing
 * does nothing, and the page works on without it.
 */
export function safeStorage(storage) {
  const attempt = (action) => {
    try {
      return action() ?? null;
    } catch {
      return null;
    }
  };
  return {
    getText: (key) => attempt(() => storage.getItem(key)),
    setText: (key, text) => attempt(() => storage.setItem(key, text)),
    getJson: (key) => attempt(() => JSON.parse(storage.getItem(key))),
    setJson: (key, value) => attempt(() => storage.setItem(key, JSON.stringify(value))),
    remove: (key) => attempt(() => storage.removeItem(key)),
    keys: () => attempt(() => Object.keys(storage)) ?? [],
  };
}
