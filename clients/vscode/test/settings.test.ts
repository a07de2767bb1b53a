import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { chosenSettings, type Inspection, serverSettings } from "../src/settings";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));

test("the server's settings are those of the manifest without the extension's own", () => {
  const names = serverSettings(manifest);
  assert.ok(names.includes("citewell.bib.keyPattern"));
  assert.ok(names.includes("citewell.library.path"));
  assert.ok(!names.some((name) => name.startsWith("citewell.server.") || name.startsWith("citewell.trace.")));
});

test("only what somebody set is told, the nearest place first", () => {
  const set: Record<string, Inspection> = {
    "citewell.library.name": { globalValue: "mine", workspaceFolderValue: "paper" },
    "citewell.retrieval.idleMinutes": { globalValue: 0 },
    "citewell.hover.abstract": { workspaceValue: false },
    "citewell.bib.target": {},
  };
  assert.deepEqual(
    chosenSettings(serverSettings(manifest), (name) => set[name]),
    { library: { name: "paper" }, retrieval: { idleMinutes: 0 }, hover: { abstract: false } },
  );
});

test("tables of several places are joined, lists are not", () => {
  const set: Record<string, Inspection> = {
    "citewell.diagnostics.severity": {
      globalValue: { a: "off", b: "hint" },
      workspaceValue: { b: "error" },
    },
    "citewell.documents.placeholders": { globalValue: ["X"], workspaceValue: ["Y"] },
  };
  assert.deepEqual(
    chosenSettings(Object.keys(set), (name) => set[name]),
    { diagnostics: { severity: { a: "off", b: "error" } }, documents: { placeholders: ["Y"] } },
  );
});
