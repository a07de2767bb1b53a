/** Papers as rows of a quick pick: authors and year, title, venue, and a preview. */

/** One row of the result of `citewell.search`. */
export interface PaperRow {
  /** Id of the paper in the library; empty for an entry of the author's `.bib`. */
  readonly id: string;
  readonly key: string;
  readonly title: string;
  readonly authors: string;
  readonly year: number | null;
  readonly venue: string;
  readonly abstract: string;
  /** A `.bib` of the document already has an entry for it. */
  readonly known: boolean;
  readonly source: string;
  readonly doi: string;
  readonly url: string;
  readonly retracted: boolean;
  /** How certain the paper is; empty where the server does not say. */
  readonly certainty?: "" | "sure" | "likely" | "a guess";
}

export interface Columns {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
}

const TITLE = 110;
const VENUE = 44;
const PREVIEW = 190;

/** The text, truncated at a word boundary to at most `limit` characters. */
export function shorten(text: string, limit: number): string {
  const plain = text.replace(/\s+/g, " ").trim();
  if (plain.length <= limit) return plain;
  const cut = plain.slice(0, limit - 1);
  const space = cut.lastIndexOf(" ");
  return `${space > limit / 2 ? cut.slice(0, space) : cut}…`;
}

/** Escapes `$(name)`, which a quick pick renders as an icon. */
export function withoutSigns(text: string): string {
  return text.replace(/\$\((?=[a-z0-9~-]+\))/gi, "$\u200b(");
}

/** The label, description and detail of a paper in a quick pick: "Chen, Manning 2014 · A Fast and ...". */
export function columns(row: PaperRow): Columns {
  const sign = row.retracted ? "$(warning) " : row.known ? "$(bookmark) " : "";
  const who = `${row.authors} ${row.year ?? ""}`.trim();
  const line = [who, shorten(row.title || row.key, TITLE)].filter(Boolean).join(" · ");
  const more = shorten(row.abstract || row.key, PREVIEW);
  return {
    label: sign + withoutSigns(line),
    description: row.retracted
      ? "retracted"
      : row.known
        ? `in ${withoutSigns(row.source || "your .bib")}`
        : (row.certainty ?? ""),
    detail: withoutSigns([shorten(row.venue, VENUE), more].filter(Boolean).join(" — ")),
  };
}

/** The preview of a paper, as plain text; `notes` stand above the abstract. */
export function preview(row: PaperRow, notes: readonly string[] = []): string {
  const lines = [
    row.title,
    "=".repeat(Math.min(row.title.length, 80)),
    "",
    [row.authors, row.year ?? "", row.venue].map(String).filter(Boolean).join(", "),
  ];
  if (row.retracted) lines.push("", "RETRACTED");
  if (notes.length > 0) lines.push("", ...notes);
  lines.push("", row.abstract || "No abstract in the library.", "", `Key:    ${row.key}`);
  if (row.doi) lines.push(`DOI:    https://doi.org/${row.doi}`);
  if (row.url) lines.push(`Link:   ${row.url}`);
  if (row.source) lines.push(`Source: ${row.source}`);
  return `${lines.join("\n")}\n`;
}
