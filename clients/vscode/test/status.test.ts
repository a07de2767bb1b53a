import assert from "node:assert/strict";
import { test } from "node:test";
import { isInCitation } from "../src/markdown";
import { libraryName, show } from "../src/status";

const server = { origin: "path", command: "/usr/bin/citewell" } as const;
const running = { kind: "running", server, version: "0.1.0" } as const;

test("a running server shows its library, and whether anything leaves the machine", () => {
  const shown = show(running, { library: "/l/aclml", works: 259643 });
  assert.equal(shown.text, "$(book) aclml");
  assert.equal(shown.level, "plain");
  assert.ok(shown.tooltip.includes("259,643 papers") && shown.tooltip.includes("nothing leaves"));
  const online = show(running, { library: "/l/aclml", works: 1, sources: ["crossref"] });
  assert.ok(online.text.endsWith("$(globe)") && online.tooltip.includes("Sources on: crossref"));
});

test("what is wrong is said with its hint", () => {
  const problem = { code: "library-missing", message: "There is no library.", hint: "Build one." };
  const shown = show(running, { library: "", works: 0, problems: [problem] });
  assert.equal(shown.text, "$(book) Citewell: no library");
  assert.equal(shown.level, "warning");
  assert.ok(shown.tooltip.startsWith("There is no library. Build one."));
});

test("each state of the server has its own words", () => {
  const texts = [
    show({ kind: "stopped" }, undefined),
    show({ kind: "starting" }, undefined),
    show({ kind: "missing" }, undefined),
    show({ kind: "failed", server, reason: "It ended.", ended: false }, undefined),
    show({ kind: "old", server, version: "0.0.1" }, undefined),
    show({ kind: "wrong-setting", command: "/x" }, undefined),
  ].map(({ text, tooltip }) => text + tooltip);
  assert.equal(new Set(texts).size, texts.length);
  assert.ok(texts[4]?.includes("0.0.1") && texts[5]?.includes("/x"));
});

test("the name of a library is the last part of its folder on any system", () => {
  assert.equal(libraryName("C:\\libraries\\aclml"), "aclml");
  assert.equal(libraryName("/l/aclml/"), "aclml");
});

test("a citation of Markdown is told from prose and from links", () => {
  for (const text of ["see [@", "see [@graph att", "[see @vas", "[-@x", "[@a; @b c"]) {
    assert.ok(isInCitation(text), text);
  }
  for (const text of ["", "a [link", "done [@x] and", "mail a@b", "[mail a@b", "[x](@"]) {
    assert.ok(!isInCitation(text), text);
  }
});
