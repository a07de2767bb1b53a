import assert from "node:assert/strict";
import { test } from "node:test";
import {
  escaped,
  listItems,
  page,
  type Reference,
  type ReferenceList,
  stateButtons,
  summary,
} from "../src/panelhtml";

const place = (line: number) => ({
  uri: "file:///w/my%20paper.tex",
  range: { start: { line, character: 0 }, end: { line, character: 4 } },
});
const LATE: Reference = {
  key: "kipf",
  state: "wrong-detail",
  sign: "⚠",
  words: "wrong detail",
  title: "Graphs",
  authors: "Kipf and Welling",
  year: 2012,
  venue: "ICLR",
  defined: place(0),
  cited: [place(3), place(7)],
  citations: 12,
  problems: [{ code: "year-differs", message: "The year is 2012.\nThe record has 2017.", level: "warning" }],
  fixes: [{ title: "Use the record's year: 2017", preferred: true, act: { uri: "file:///w/refs.bib" } }],
};
const list = (...references: Reference[]): ReferenceList => ({
  uri: "file:///w/a.tex",
  total: references.length,
  references,
});

test("a reference shows title, people, state, problem, places and fix", () => {
  const html = listItems(list(LATE));
  for (const part of [
    "Graphs",
    "Kipf and Welling · 2012 · ICLR",
    "wrong detail",
    'The year is 2012.<p class="why">The record has 2017.</p>',
    "my paper.tex:4",
    "and 10 more",
    'class="fix preferred" data-fix="0"',
  ]) {
    assert.ok(html.includes(part), part);
  }
});

test("nothing of a document becomes markup", () => {
  const evil = '"><img src=x onerror=alert(1)>';
  const html = listItems(
    list({
      ...LATE,
      key: evil,
      state: evil,
      title: evil,
      authors: evil,
      venue: evil,
      sign: evil,
      words: evil,
      problems: [{ code: "x", message: evil, level: evil }],
      fixes: [{ title: evil, preferred: false, act: { uri: "" } }],
      cited: [{ ...place(1), uri: "file:///w/%3Cscript%3E%22.tex" }],
    }),
  );
  assert.ok(!html.includes("<img") && !html.includes("<script"));
  assert.equal(html.match(/<li /g)?.length, 2);
  assert.equal(escaped(`<&>"'`), "&lt;&amp;&gt;&quot;&#39;");
});

test("the name of a file that is no valid address is shown as it is", () => {
  const html = listItems(list({ ...LATE, cited: [{ ...place(1), uri: "untitled:100%" }] }));
  assert.ok(html.includes("100%:2"));
});

test("a key without an entry leads to its citation and to what it may mean", () => {
  const html = listItems(list({ ...LATE, state: "undefined", title: "", defined: null, fixes: [] }));
  assert.ok(html.includes('data-go="quickfix"') && html.includes("No entry in the bibliography"));
  assert.ok(!html.includes('data-go="entry"'));
});

test("the policy of the page lets in nothing but our own style and script", () => {
  const html = page("vscode-resource:", "abc", "s.js", "s.css");
  assert.ok(
    html.includes("default-src &#39;none&#39;; style-src vscode-resource:; script-src &#39;nonce-abc&#39;"),
  );
  assert.equal(html.match(/<script/g)?.length, 1);
  assert.ok(!/unsafe-|https?:|\bon\w+=/.test(html));
});

test("the filters are the states that there are, the worst first", () => {
  const right = { ...LATE, state: "verified", sign: "✓", words: "verified" };
  const html = stateButtons([LATE, right, right]);
  assert.ok(html.indexOf("wrong-detail") < html.indexOf("verified"));
  assert.ok(html.includes("✓ verified <b>2</b>") && !html.includes("fabricated"));
});

test("the summary says how much there is, and why there is nothing", () => {
  const right = { ...LATE, state: "verified" };
  const unknown = { ...LATE, state: "not-found" };
  assert.equal(summary(list(right)), "1 reference.");
  assert.equal(summary(list(LATE, right, unknown)), "3 references. 1 with problems.");
  assert.equal(summary({ ...list(unknown), total: 5000 }), "5000 references. The first 1 are shown.");
  assert.equal(summary(list()), "This document cites nothing yet.");
  assert.equal(summary(undefined, "No <server>."), "No <server>.");
  assert.ok(summary(undefined).startsWith("Open a"));
});
