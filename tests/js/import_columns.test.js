import assert from "node:assert/strict";
import test from "node:test";
import { csvHeader, jsonlHeader } from "../../static/js/import_columns.js";

test("a CSV file's columns are the cells of its first line", () => {
  assert.deepEqual(csvHeader("id,text\r\n1,x\r\n"), ["id", "text"]);
  assert.deepEqual(csvHeader("id"), ["id"]);
});

test("quoted column names keep their commas, quotes and line breaks", () => {
  assert.deepEqual(csvHeader('"Clip, left","so ""called""","two\nlines"\n'), ["Clip, left", 'so "called"', "two\nlines"]);
});

test("a JSONL file's columns are the keys of its first object", () => {
  assert.deepEqual(jsonlHeader('{"id": 1, "text": "x"}\n{"other": 2}\n'), ["id", "text"]);
  assert.deepEqual(jsonlHeader('{"id": 1}'), ["id"]);
});

test("a file that is not JSON has no columns to ask about: the import says what is wrong", () => {
  assert.deepEqual(jsonlHeader("id,text\n"), []);
});
