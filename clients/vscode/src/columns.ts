/** Papers as the lines of a list: columns of author, year and venue, and a preview. */

/** One row of what `citewell.search` answers. */
export interface PaperRow {
  /** Of the paper in the library; empty for an entry of the author's own. */
  readonly id: string;
  readonly key: string;
  readonly title: string;
  readonly authors: string;
  readonly year: number | null;
  readonly venue: string;
  readonly abstract: string;
  /** A `.bib` of the paper describes it already. */
  readonly known: boolean;
  readonly source: string;
  readonly doi: string;
  readonly url: string;
  readonly retracted: boolean;
}

export interface Columns {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
}

const TITLE = 110;
const VENUE = 44;
const PREVIEW = 190;

/** The text, cut at a word where it is longer than `most`. */
export function shorten(text: string, most: number): string {
  const plain = text.replace(/\s+/g, " ").trim();
  if (plain.length <= most) return plain;
  const cut = plain.slice(0, most - 1);
  const space = cut.lastIndexOf(" ");
  return `${space > most / 2 ? cut.slice(0, space) : cut}…`;
}

/** A list shows `$(name)` as a sign: a title that holds such a thing is not to. */
export function withoutSigns(text: string): string {
  return text.replace(/\$\((?=[a-z0-9~-]+\))/gi, "$\u200b(");
}

/**
 * What the list shows of a paper. Authors, year and venue begin the second line: behind a long title
 * they would be cut off.
 */
export function columns(row: PaperRow): Columns {
  const sign = row.retracted ? "$(warning) " : row.known ? "$(bookmark) " : "";
  const where = [row.authors, row.year ?? "", shorten(row.venue, VENUE)].map(String).filter(Boolean);
  const more = shorten(row.abstract || row.key, PREVIEW);
  return {
    label: sign + withoutSigns(shorten(row.title || row.key, TITLE)),
    description: row.retracted
      ? "retracted"
      : row.known
        ? `in ${withoutSigns(row.source || "your .bib")}`
        : "",
    detail: withoutSigns([where.join(" · "), more].filter(Boolean).join(" — ")),
  };
}

/** The page that is shown beside the list for the paper that is marked. Plain text. */
export function preview(row: PaperRow): string {
  const lines = [
    row.title,
    "=".repeat(Math.min(row.title.length, 80)),
    "",
    [row.authors, row.year ?? "", row.venue].map(String).filter(Boolean).join(", "),
  ];
  if (row.retracted) lines.push("", "RETRACTED");
  lines.push("", row.abstract || "No abstract in the library.", "", `Key:    ${row.key}`);
  if (row.doi) lines.push(`DOI:    https://doi.org/${row.doi}`);
  if (row.url) lines.push(`Link:   ${row.url}`);
  if (row.source) lines.push(`Source: ${row.source}`);
  return `${lines.join("\n")}\n`;
}
