/** The desk's keys: one table, changed and listed as the workbench's. Digits go to the fields. */
import { createKeyMap } from "../keys/key_map.js";

const ACTIONS = [
  { name: "accept", key: "a" },
  { name: "edit", key: "e" },
  { name: "reject", key: "x" },
  { name: "correct", key: "c" },
  { name: "save", key: "Ctrl+Enter" },
  { name: "fine", key: "f" },
  { name: "send_back", key: "r" },
  { name: "withdraw", key: "w" },
  { name: "put_back", key: "n" },
  { name: "take_back", key: "u" },
  { name: "play", key: "p" },
  { name: "switch", key: "s" },
  { name: "back5", key: "j", repeats: true },
  { name: "on5", key: "l", repeats: true },
  { name: "restart", key: "k" },
  { name: "leave_text", key: "Escape", fixed: true },
  { name: "help", key: "?" },
];

export const createDeskKeys = (storage) => createKeyMap(storage, { actions: ACTIONS, store: "concord:desk-keys" });

/** Rows for the list of keys, as in answer_keys.js. */
export const fieldRows = (nFields) => [{ keys: nFields > 1 ? ["1", String(nFields)] : ["1"], until: nFields > 1, text: "keys.field" }];
