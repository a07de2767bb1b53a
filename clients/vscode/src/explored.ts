/** What a literature search answers, and how its papers are listed. */

import { type Columns, columns, type PaperRow, preview } from "./columns";

export interface ExploredRow extends PaperRow {
  /** The passes that found the paper, with its ranks there. */
  readonly why: string;
  /** Probability that it answers the question; null where it is not judged. */
  readonly relevance?: number | null;
  /** Judged relevant. */
  readonly relevant?: boolean;
}

/** A part of the question that was understood. */
export interface Part {
  readonly kind: string;
  readonly value: string;
  /** The question without it. */
  readonly rest: string;
}

interface Problem {
  readonly message: string;
  readonly hint: string;
}

/** The state after a pass; of the notification, `rows` holds the new ones only. */
export interface Explored {
  readonly token?: string;
  readonly query: string;
  readonly rows: readonly ExploredRow[];
  readonly understood?: readonly Part[];
  readonly passes: readonly { readonly name: string }[];
  readonly problems: readonly Problem[];
}

/** What a list of papers is about. */
export interface Overview {
  readonly text: string;
  readonly problems: readonly Problem[];
}

/** Whether the author keeps or rejects a paper. */
export type Verdict = "kept" | "rejected";

const WIDTH = 90;

/** The passes after the first, by what they look for. */
export const FOUND_BY: Readonly<Record<string, string>> = {
  reading: "for the question as the language model reads it",
  references: "with the best papers as references",
  papers: "like the best papers",
  aspects: "on methods, applications and limitations",
  citations: "along citations",
  chains: "along citations, by online sources",
  sources: "from online sources",
};

/** The papers that the author keeps and rejects, by id. */
export class Verdicts {
  private readonly known = new Map<string, Verdict>();
  /** Some were given or taken back since the last search. */
  areNew = false;

  of(id: string): Verdict | undefined {
    return this.known.get(id);
  }

  ids(verdict: Verdict): string[] {
    return [...this.known].flatMap(([id, one]) => (one === verdict ? [id] : []));
  }

  /** Gives a verdict, or takes it back if the paper has it. */
  toggle(id: string, verdict: Verdict): void {
    if (this.known.get(id) === verdict) this.known.delete(id);
    else this.known.set(id, verdict);
    this.areNew = true;
  }

  /** Takes all rejections back. */
  restore(): void {
    for (const id of this.ids("rejected")) this.known.delete(id);
  }

  /** "1 kept, 2 rejected". */
  get summary(): string {
    return `${this.ids("kept").length} kept, ${this.ids("rejected").length} rejected`;
  }
}

/** "relevant 24%" where the paper is judged relevant, "3%" where it is not; empty where it is not judged. */
export function relevanceText({ relevance, relevant }: ExploredRow): string {
  const share =
    typeof relevance !== "number" ? "" : relevance < 0.01 ? "<1%" : `${Math.round(relevance * 100)}%`;
  return [relevant ? "relevant" : "", share].filter(Boolean).join(" ");
}

/**
 * The paper in a quick pick. What the author says of it and its relevance start the second line: after a long title
 * they would be cut off.
 */
export function exploredColumns(row: ExploredRow, verdict?: Verdict): Columns {
  const shown = columns(row);
  const relevance = verdict === "kept" ? "" : relevanceText(row);
  return { ...shown, detail: [verdict, relevance, shown.detail].filter(Boolean).join(" · ") };
}

/** The preview of a paper, with its relevance and why it is listed. */
export function exploredPreview(row: ExploredRow): string {
  const relevance = relevanceText(row);
  const notes = [relevance && `Relevance: ${relevance}`, row.why && `Why: ${row.why}`];
  return preview(row, notes.filter(Boolean));
}

/** The text with lines of at most `WIDTH` characters, each indented as the one that it continues. */
export function wrapped(text: string): string {
  return text.split("\n").map(wrappedLine).join("\n");
}

function wrappedLine(line: string): string {
  const indent = line.match(/^ */)?.[0] ?? "";
  const lines: string[] = [];
  let last = "";
  for (const word of line.trim().split(/\s+/)) {
    if (last && indent.length + last.length + 1 + word.length > WIDTH) {
      lines.push(indent + last);
      last = word;
    } else last = last ? `${last} ${word}` : word;
  }
  return [...lines, indent + last].join("\n").trimEnd();
}
