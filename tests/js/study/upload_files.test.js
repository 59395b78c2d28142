import assert from "node:assert/strict";
import { test } from "node:test";
import { describeFiles, droppedFiles, selectedFiles } from "../../../static/js/study/upload_files.js";

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

const file = (fullPath, size = 1) => ({
  isFile: true,
  name: fullPath.split("/").at(-1),
  fullPath,
  file: (resolve) => resolve({ name: fullPath, size }),
});

test("a dropped folder is read to its end, hidden files stay behind", async () => {
  const portions = [[file("/mine/a/1.wav")], [file("/mine/a/2.wav"), file("/mine/a/.DS_Store")], []];
  const folder = { name: "a", createReader: () => ({ readEntries: (resolve) => resolve(portions.shift()) }) };
  const found = await droppedFiles([file("/items.csv"), folder]);
  assert.deepEqual(
    found.map(({ path }) => path),
    ["items.csv", "mine/a/1.wav", "mine/a/2.wav"],
  );
});

test("what was chosen is told in a line", () => {
  const files = [{ file: { size: 2_500_000 }, path: "items.csv" }, { file: { size: 100_000 }, path: "1.wav" }];
  assert.equal(describeFiles(files, "{name}, {size}", "{name} and {n} more, {size}"), "items.csv and 1 more, 2.6 MB");
  assert.equal(describeFiles(files.slice(1), "{name}, {size}", ""), "1.wav, 0.1 MB");
  assert.equal(describeFiles([], "", ""), "");
});
