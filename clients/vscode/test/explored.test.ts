import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ExploredRow,
  exploredColumns,
  exploredPreview,
  relevanceText,
  Verdicts,
  wrapped,
} from "../src/explored";

const ROW: ExploredRow = {
  id: "s2:1",
  key: "doe2020",
  title: "On Teapots",
  authors: "Doe",
  year: 2020,
  venue: "Pots",
  abstract: "Teapots hold tea.",
  known: false,
  source: "s2",
  doi: "",
  url: "",
  retracted: false,
  certainty: "",
  why: "search #1 (bm25 #2)",
  relevance: 0.243,
  relevant: true,
};

test("the relevance is a percentage, with a word where it is above the cut", () => {
  assert.equal(relevanceText(ROW), "relevant 24%");
  assert.equal(relevanceText({ ...ROW, relevance: 0.031, relevant: false }), "3%");
  assert.equal(relevanceText({ ...ROW, relevance: 0.0004, relevant: false }), "<1%");
  assert.equal(relevanceText({ ...ROW, relevance: null, relevant: false }), "");
  // A server of an older version sends neither.
  const { relevance: _, relevant: __, ...old } = ROW;
  assert.equal(relevanceText(old), "");
});

test("what the author says of a paper stands beside it", () => {
  assert.ok(exploredColumns(ROW).detail.startsWith("relevant 24% · Pots"));
  assert.ok(exploredColumns(ROW, "kept").detail.startsWith("kept · Pots"));
  assert.ok(exploredColumns(ROW, "rejected").detail.startsWith("rejected · relevant 24% · Pots"));
  assert.ok(exploredColumns({ ...ROW, relevance: null, relevant: false }).detail.startsWith("Pots"));
});

test("the preview says how likely the paper answers and what found it", () => {
  const text = exploredPreview(ROW);
  for (const part of ["On Teapots", "Teapots hold tea.", "Relevance: relevant 24%", "Why: search #1"]) {
    assert.ok(text.includes(part), part);
  }
  assert.ok(text.indexOf("Why:") < text.indexOf("Teapots hold tea."));
  const plain = exploredPreview({ ...ROW, why: "", relevance: null, relevant: false });
  assert.ok(!plain.includes("Relevance") && !plain.includes("Why:"));
});

test("long lines are wrapped under their indent", () => {
  const text = `teapots (2 papers)\n  “${"tea ".repeat(60).trim()}” [Doe 2020: On Teapots]\n\nkettles`;
  const lines = wrapped(text).split("\n");
  assert.equal(lines[0], "teapots (2 papers)");
  assert.ok(lines.every((line) => line.length <= 90));
  assert.ok(lines.slice(1, -2).every((line) => line.startsWith("  ")));
  assert.deepEqual(lines.slice(-2), ["", "kettles"]);
  assert.equal(lines.join(" ").replace(/\s+/g, " "), text.replace(/\s+/g, " "));
});

test("the same verdict again takes it back, and another one replaces it", () => {
  const verdicts = new Verdicts();
  for (const id of ["a", "b", "c"]) verdicts.toggle(id, "rejected");
  verdicts.toggle("b", "kept");
  assert.equal(verdicts.summary, "1 kept, 2 rejected");
  verdicts.toggle("b", "kept");
  assert.deepEqual(
    [verdicts.ids("kept"), verdicts.ids("rejected"), verdicts.of("b")],
    [[], ["a", "c"], undefined],
  );
  verdicts.toggle("b", "kept");
  verdicts.restore();
  assert.deepEqual([verdicts.ids("kept"), verdicts.ids("rejected")], [["b"], []]);
});
