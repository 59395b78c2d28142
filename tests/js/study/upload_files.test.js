import assert from "node:assert/strict";
import { test } from "node:test";
import { selectedFiles } from "../../../static/js/study/upload_files.js";

const input = (...files) => ({ files });

test("a folder's files keep their paths, and hidden ones stay behind", () => {
  const clip = { name: "1.wav", webkitRelativePath: "mine/a/1.wav" };
  const hidden = { name: ".DS_Store", webkitRelativePath: "mine/.DS_Store" };
  assert.deepEqual(selectedFiles(input(), input(clip, hidden)), [{ file: clip, path: "mine/a/1.wav" }]);
});

test("a file goes by its name where no folder is chosen", () => {
  const table = { name: "items.csv", webkitRelativePath: "" };
  assert.deepEqual(selectedFiles(input(table), input()), [{ file: table, path: "items.csv" }]);
});
