/** "Explore Literature": a quick pick that grows with each pass of a literature search and cites at the cursor. */

import * as vscode from "vscode";
import { citePapers, currentTarget, type Item, isSamePaper, item, type Target } from "./citing";
import type { Connection } from "./client";
import { type PaperRow, shorten, withoutSigns } from "./columns";
import type { Preview } from "./findpaper";

const DEBOUNCE_MS = 500;
/** Papers in the list of each pass. */
const LIMIT = 50;
/** A longer question is not put into the input box. */
const MAX_SHOWN = 200;
const MAX_TITLE = 70;

/** A part of the question that was understood. */
interface Part {
  readonly kind: string;
  readonly value: string;
  /** The question without it. */
  readonly rest: string;
}

/** The state after a pass; of the notification, `rows` holds the new ones only. */
export interface Explored {
  readonly token?: string;
  readonly query: string;
  readonly rows: readonly PaperRow[];
  readonly understood?: readonly Part[];
  readonly passes: readonly { readonly name: string }[];
  readonly problems: readonly { readonly message: string; readonly hint: string }[];
}

interface Line extends Item {
  readonly part?: Part;
}

const FOUND_BY: Readonly<Record<string, string>> = {
  reading: "for the question as the language model reads it",
  references: "with the best papers as references",
  papers: "like the best papers",
  aspects: "on methods, applications and limitations",
  citations: "along citations",
  sources: "from online sources",
};

/** Shows the list; resolves once it is closed and the chosen papers are cited. */
export async function exploreLiterature(connection: Connection, page: Preview): Promise<void> {
  const target = currentTarget();
  const rows = await new Exploration(connection, page, target).choose();
  await citePapers(connection, target, rows);
}

let searches = 0;

class Exploration {
  private readonly pick = vscode.window.createQuickPick<Line>();
  private readonly togglePreview: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("open-preview"),
    tooltip: "Preview the selected paper beside the list",
  };
  private lines: Line[] = [];
  /** The ticked papers, in the order ticked; they stay in the list across searches. */
  private chosen: PaperRow[] = [];
  /** When each paper was first ticked: a new list unticks all rows for a moment. */
  private readonly ticks = new Map<string, number>();
  /** The text of the input box that was searched for last. */
  private searchedText = "";
  private token = "";
  /** No pass of the present search is listed. */
  private isNew = true;
  private isFilling = false;
  private isPreviewOpen = false;
  private timer: NodeJS.Timeout | undefined;
  private request: vscode.CancellationTokenSource | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly page: Preview,
    private readonly target: Target | undefined,
  ) {
    const { pick } = this;
    pick.canSelectMany = true;
    pick.keepScrollPosition = true;
    pick.matchOnDescription = false;
    pick.matchOnDetail = false;
    // Keep the engine's order. Not in the typed API yet; by default the list sorts by its own match.
    (pick as { sortByLabel?: boolean }).sortByLabel = false;
    pick.placeholder = target ? "A question or a topic; empty: this paragraph" : "A question or a topic";
    pick.title = "Citewell: Explore literature";
    pick.buttons = [this.togglePreview];
  }

  /** The chosen papers; empty if the list was dismissed. */
  choose(): Promise<readonly PaperRow[]> {
    const { pick } = this;
    const passes = this.connection.onDidExplore((found) => found.token === this.token && this.take(found));
    return new Promise((done) => {
      let accepted: readonly PaperRow[] = [];
      pick.onDidChangeValue((value) => {
        if (value !== this.searchedText) this.schedule();
      });
      pick.onDidChangeActive(([line]) => line?.row && this.page.show(line.row));
      pick.onDidTriggerButton(() => this.togglePreviewPage());
      pick.onDidChangeSelection((lines) => this.select(lines));
      pick.onDidAccept(() => {
        const active = pick.activeItems[0];
        // With nothing ticked, Enter chooses the active row.
        if (this.chosen.length === 0 && active?.part) this.searchWithout(active.part);
        accepted = this.chosen.length > 0 ? this.chosen : active?.row ? [active.row] : [];
        if (accepted.length > 0) pick.hide();
      });
      pick.onDidHide(async () => {
        this.stop();
        passes.dispose();
        pick.dispose();
        if (this.isPreviewOpen) await this.page.close();
        done(accepted);
      });
      pick.show();
      const selection = this.target?.editor.selection;
      void this.search(selection && !selection.isEmpty ? { range: plainRange(selection) } : {});
    });
  }

  private async togglePreviewPage(): Promise<void> {
    this.isPreviewOpen = !this.isPreviewOpen;
    this.pick.ignoreFocusOut = this.isPreviewOpen;
    await (this.isPreviewOpen ? this.page.open() : this.page.close());
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.token = "";
    this.request?.cancel();
    this.request?.dispose();
    this.request = undefined;
  }

  private schedule(): void {
    this.stop();
    this.pick.busy = true;
    this.timer = setTimeout(() => void this.search({ query: this.pick.value }), DEBOUNCE_MS);
  }

  /** Searches for a question, a range, or, where there is neither, the paragraph at the cursor. */
  private async search(question: { query?: string; range?: object }): Promise<void> {
    this.stop();
    const { pick, target } = this;
    if (!question.query?.trim() && !target) {
      pick.busy = false;
      return;
    }
    const request = new vscode.CancellationTokenSource();
    searches += 1;
    this.request = request;
    this.token = String(searches);
    this.isNew = true;
    this.searchedText = pick.value;
    pick.busy = true;
    try {
      const answer = await this.connection.execute<Explored>(
        "citewell.explore",
        { ...question, ...this.place(), limit: LIMIT, token: this.token },
        request.token,
      );
      if (!request.token.isCancellationRequested) this.finish(answer);
    } catch (error) {
      if (!request.token.isCancellationRequested) this.showMessage(`The search failed: ${String(error)}`);
    } finally {
      if (this.request === request) pick.busy = false;
    }
  }

  private place(): object {
    if (!this.target) return {};
    const { editor, position } = this.target;
    return {
      uri: editor.document.uri.toString(),
      position: { line: position.line, character: position.character },
    };
  }

  /** Lists what a pass found, below what is listed. */
  private take(found: Explored): void {
    const { pick } = this;
    const active = pick.activeItems;
    const isNew = this.isNew;
    if (isNew) {
      this.isNew = false;
      const parts = (found.understood ?? []).filter((part) => part.rest);
      this.lines = [...parts.map(partLine), ...this.chosen.map(item)];
      // What a selection asks becomes the text to edit.
      if (!pick.value && !this.target?.editor.selection.isEmpty && found.query.length <= MAX_SHOWN) {
        this.searchedText = found.query;
        pick.value = found.query;
      }
    }
    const rows = found.rows.filter((row) => !this.chosen.some((one) => isSamePaper(one, row)));
    const by = FOUND_BY[found.passes.at(-1)?.name ?? ""];
    if (by && rows.length > 0 && !isNew)
      this.lines.push({ label: by, kind: vscode.QuickPickItemKind.Separator });
    this.lines.push(...rows.map(item));
    this.fill();
    const first = this.lines.find((line) => line.row);
    if (isNew && first) pick.activeItems = [first];
    else pick.activeItems = active;
    this.setTitle(found.query, "searching, ");
  }

  private setTitle(query: string, state = ""): void {
    const papers = this.lines.filter((line) => line.row).length;
    this.pick.title = `Citewell: ${state}${papers} papers on “${shorten(query, MAX_TITLE)}”`;
  }

  private finish(answer: Explored | undefined): void {
    if (!answer) {
      this.showMessage("The Citewell server is not running.");
      return;
    }
    if (this.isNew) this.take(answer);
    this.setTitle(answer.query);
    const problem = answer.problems[0];
    if (answer.rows.length === 0)
      this.showMessage(problem ? `${problem.message} ${problem.hint}` : "No papers found.");
  }

  /** Shows a message below the parts of the question and the ticked papers. */
  private showMessage(text: string): void {
    const kept = this.lines.filter(
      ({ part, row }) => part || this.chosen.some((one) => row && isSamePaper(one, row)),
    );
    this.lines = [...kept, { label: `$(info) ${text}`, alwaysShow: true }];
    this.fill();
  }

  private fill(): void {
    const { pick } = this;
    this.isFilling = true;
    pick.items = this.lines;
    pick.selectedItems = this.lines.filter(
      ({ row }) => row && this.chosen.some((one) => isSamePaper(one, row)),
    );
    this.isFilling = false;
  }

  /** Keeps the ticked papers, or searches without a part of the question. */
  private select(lines: readonly Line[]): void {
    if (this.isFilling) return;
    const rows = lines.flatMap(({ row }) => (row ? [row] : []));
    const part = lines.find((line) => line.part)?.part;
    // Not where all rows are ticked at once.
    if (part && rows.length === this.chosen.length) {
      this.searchWithout(part);
      return;
    }
    for (const row of rows) {
      if (!this.ticks.has(row.id)) this.ticks.set(row.id, this.ticks.size);
    }
    this.chosen = rows.sort((one, other) => this.rank(one) - this.rank(other));
  }

  private rank(row: PaperRow): number {
    return this.ticks.get(row.id) ?? 0;
  }

  private searchWithout(part: Part): void {
    this.searchedText = part.rest;
    this.pick.value = part.rest;
    void this.search({ query: part.rest });
  }
}

/** A range as the protocol has it. */
function plainRange({ start, end }: vscode.Range): object {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}

function partLine(part: Part): Line {
  return {
    label: `$(close) ${withoutSigns(`Without ${part.kind.replace("_", " ")}: ${part.value}`)}`,
    description: `search for “${shorten(part.rest, MAX_TITLE)}”`,
    part,
    alwaysShow: true,
  };
}
