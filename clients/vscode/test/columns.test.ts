import assert from "node:assert/strict";
import { test } from "node:test";
import { columns, type PaperRow, preview, shorten } from "../src/columns";

const ROW: PaperRow = {
  id: "W1",
  key: "vaswani2017attention",
  title: "Attention is All you Need",
  authors: "Vaswani et al.",
  year: 2017,
  venue: "Advances in Neural Information Processing Systems 30: Annual Conference",
  abstract: "The dominant sequence\ntransduction models are based on complex networks.",
  known: false,
  source: "acl-anthology",
  doi: "10.1/x",
  url: "https://example.org/x",
  retracted: false,
};

test("authors and year come before the title, a long venue is cut at a word", () => {
  const shown = columns(ROW);
  assert.equal(shown.label, "Vaswani et al. 2017 · Attention is All you Need");
  assert.equal(shown.description, "");
  const where = "Advances in Neural Information Processing…";
  assert.equal(
    shown.detail,
    `${where} — The dominant sequence transduction models are based on complex networks.`,
  );
});

test("what is missing leaves no gap", () => {
  const bare = { ...ROW, authors: "", year: null, venue: "", abstract: "" };
  assert.equal(columns(bare).description, "");
  assert.equal(columns(bare).detail, "vaswani2017attention");
});

test("an own entry and a retracted paper carry a sign", () => {
  const own = columns({ ...ROW, known: true, source: "refs.bib" });
  assert.ok(own.label.startsWith("$(bookmark) "));
  assert.ok(own.description.endsWith("in refs.bib"));
  const gone = columns({ ...ROW, retracted: true });
  assert.ok(gone.label.startsWith("$(warning) ") && gone.description.endsWith("retracted"));
});

test("how certain a new paper is stands beside it", () => {
  assert.equal(columns({ ...ROW, certainty: "likely" }).description, "likely");
  assert.equal(columns({ ...ROW, certainty: "sure", known: true }).description, "in acl-anthology");
  assert.equal(columns({ ...ROW, certainty: "sure", retracted: true }).description, "retracted");
});

test("a title cannot draw a sign", () => {
  assert.ok(!columns({ ...ROW, title: "The $(check) Sign" }).label.includes("$(check)"));
});

test("the preview has the abstract, the key and the links", () => {
  const text = preview(ROW);
  for (const part of ["Attention is All", "Vaswani et al., 2017", "dominant", "10.1/x", "acl-anthology"]) {
    assert.ok(text.includes(part), part);
  }
});

test("a text without spaces is cut all the same", () => {
  assert.equal(shorten("x".repeat(50), 10), `${"x".repeat(9)}…`);
});
