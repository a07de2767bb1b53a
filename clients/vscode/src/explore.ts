/** "Explore Literature": a quick pick that grows with each pass of a literature search and cites at the cursor. */

import * as vscode from "vscode";
import { citePapers, currentTarget, isSamePaper, plainRange, type Target } from "./citing";
import type { Connection } from "./client";
import { shorten } from "./columns";
import {
  type Explored,
  type ExploredRow,
  exploredPreview,
  FOUND_BY,
  type Overview,
  type Part,
  type Verdict,
  Verdicts,
  wrapped,
} from "./explored";
import {
  AGAIN,
  KEEP,
  type Line,
  MAX_TITLE,
  OVERVIEW,
  PREVIEW,
  paperLine,
  partLine,
  restoringLine,
} from "./exploredlines";
import type { Preview } from "./findpaper";

const DEBOUNCE_MS = 500;
/** Papers in the list of each pass. */
const LIMIT = 50;
/**
 * Papers are added once the active row has not changed for this long: a new list sets the active row, which would undo
 * a key pressed just before.
 */
const STILL_MS = 300;
/** A longer question is not put into the input box. */
const MAX_SHOWN = 200;

/** Shows the list; resolves once it is closed and the chosen papers are cited. */
export async function exploreLiterature(connection: Connection, page: Preview): Promise<void> {
  const target = currentTarget();
  const rows = await new Exploration(connection, page, target).choose();
  await citePapers(connection, target, rows);
}

/** Keeps or rejects the active paper of the open list; nothing where there is none. */
export function judgeActivePaper(verdict: Verdict): void {
  shown?.judgeActive(verdict);
}

/** Searches again with the papers that are kept and without the rejected ones. */
export function searchAgain(): void {
  shown?.searchAgain();
}

/** The open list. */
let shown: Exploration | undefined;

let searches = 0;

class Exploration {
  private readonly pick = vscode.window.createQuickPick<Line>();
  private lines: Line[] = [];
  /** The ticked papers, in the order ticked; they stay in the list across searches. */
  private chosen: ExploredRow[] = [];
  private readonly verdicts = new Verdicts();
  /** When each paper was first ticked: a new list unticks all rows for a moment. */
  private readonly ticks = new Map<string, number>();
  /** The text of the input box that was searched for last. */
  private searchedText = "";
  /** What was searched for last, in words. */
  private query = "";
  private token = "";
  /** No pass of the present search is listed. */
  private isNew = true;
  private isFilling = false;
  private isSearching = false;
  private isPreviewOpen = false;
  private timer: NodeJS.Timeout | undefined;
  /** Changes of the list that wait until its active row is still. */
  private changes: (() => void)[] = [];
  private changeTimer: NodeJS.Timeout | undefined;
  /** When the active row changed last, in milliseconds. */
  private movedAt = 0;
  private request: vscode.CancellationTokenSource | undefined;
  /** Ends with the list. */
  private readonly closing = new vscode.CancellationTokenSource();

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
    pick.buttons = [AGAIN, OVERVIEW, PREVIEW];
  }

  /** The chosen papers; empty if the list was dismissed. */
  choose(): Promise<readonly ExploredRow[]> {
    const { pick } = this;
    const passes = this.connection.onDidExplore((found) => {
      if (found.token !== this.token) return;
      if (this.isNew) this.take(found);
      else this.changeOnceStill(() => this.take(found));
    });
    return new Promise((done) => {
      let accepted: readonly ExploredRow[] = [];
      pick.onDidChangeValue((value) => {
        if (value !== this.searchedText) this.schedule();
      });
      pick.onDidChangeActive(([line]) => {
        this.movedAt = Date.now();
        if (line?.row) this.page.show(exploredPreview(line.row));
      });
      pick.onDidTriggerButton((button) => {
        if (button === AGAIN) this.searchAgain();
        else if (button === OVERVIEW) void this.showOverview();
        else void this.togglePreviewPage();
      });
      pick.onDidTriggerItemButton(({ button, item }) => {
        if (item.row) this.judge(item.row, button === KEEP ? "kept" : "rejected");
      });
      pick.onDidChangeSelection((lines) => this.select(lines));
      pick.onDidAccept(() => {
        const active = pick.activeItems[0];
        const isRejected = active?.row && this.verdicts.of(active.row.id) === "rejected";
        // With nothing ticked, Enter chooses the active row.
        if (this.chosen.length === 0 && active?.part) this.searchWithout(active.part);
        if (this.chosen.length === 0 && active?.restores) this.restore();
        accepted = this.chosen.length > 0 ? this.chosen : active?.row && !isRejected ? [active.row] : [];
        if (accepted.length > 0) pick.hide();
      });
      pick.onDidHide(async () => {
        this.stop();
        this.closing.cancel();
        shown = undefined;
        void vscode.commands.executeCommand("setContext", "citewell.exploring", false);
        passes.dispose();
        pick.dispose();
        if (this.isPreviewOpen) await this.page.close();
        done(accepted);
      });
      shown = this;
      void vscode.commands.executeCommand("setContext", "citewell.exploring", true);
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
    clearTimeout(this.changeTimer);
    this.changes = [];
    this.token = "";
    this.request?.cancel();
    this.request?.dispose();
    this.request = undefined;
  }

  private changeOnceStill(...changes: (() => void)[]): void {
    this.changes.push(...changes);
    clearTimeout(this.changeTimer);
    const left = this.movedAt + STILL_MS - Date.now();
    if (left > 0) {
      this.changeTimer = setTimeout(() => this.changeOnceStill(), left);
      return;
    }
    for (const change of this.changes.splice(0)) change();
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
    this.verdicts.areNew = false;
    this.searchedText = pick.value;
    this.setBusy(true);
    try {
      const answer = await this.connection.execute<Explored>(
        "citewell.explore",
        {
          ...question,
          ...this.place(),
          kept: this.verdicts.ids("kept"),
          rejected: this.verdicts.ids("rejected"),
          limit: LIMIT,
          token: this.token,
        },
        request.token,
      );
      if (request.token.isCancellationRequested) return;
      if (!answer || this.isNew) this.finish(answer);
      else this.changeOnceStill(() => this.finish(answer));
    } catch (error) {
      if (!request.token.isCancellationRequested) this.showMessage(`The search failed: ${String(error)}`);
    } finally {
      if (this.request === request) this.setBusy(false);
    }
  }

  private setBusy(isSearching: boolean): void {
    this.isSearching = isSearching;
    this.pick.busy = isSearching;
  }

  /** Searches for the same question, with the kept papers and without the rejected ones. */
  searchAgain(): void {
    if (this.query) void this.search({ query: this.query });
  }

  judgeActive(verdict: Verdict): void {
    const row = this.pick.activeItems[0]?.row;
    if (row) this.judge(row, verdict);
  }

  /** Keeps or rejects a paper; the same verdict again takes it back. Nothing moves before the next search. */
  private judge(row: ExploredRow, verdict: Verdict): void {
    this.verdicts.toggle(row.id, verdict);
    if (verdict === "rejected") this.chosen = this.chosen.filter((one) => !isSamePaper(one, row));
    this.drawAgain();
    this.setTitle();
  }

  private restore(): void {
    this.verdicts.restore();
    this.searchAgain();
  }

  /** Shows what the listed papers are about beside the list. */
  private async showOverview(): Promise<void> {
    const { pick } = this;
    const rows = this.lines.flatMap(({ row }) => (row ? [row] : []));
    const ids = rows.map(({ id }) => id).filter((id) => this.verdicts.of(id) !== "rejected");
    if (ids.length === 0) return;
    pick.busy = true;
    try {
      const { token } = this.closing;
      const wanted = { ids, query: this.query };
      const answer = await this.connection.execute<Overview>("citewell.overview", wanted, token);
      if (token.isCancellationRequested) return;
      const problem = answer?.problems[0];
      const text = [problem && `${problem.message} ${problem.hint}`, answer?.text].filter(Boolean);
      this.page.show(wrapped(text.join("\n\n") || "No overview."));
      if (!this.isPreviewOpen) await this.togglePreviewPage();
    } catch (error) {
      if (!this.closing.token.isCancellationRequested) this.page.show(`No overview: ${String(error)}`);
    } finally {
      pick.busy = this.isSearching;
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
    this.query = found.query;
    if (isNew) {
      this.isNew = false;
      const parts = (found.understood ?? []).filter((part) => part.rest);
      const rejected = this.verdicts.ids("rejected").length;
      const above = rejected > 0 ? [...parts.map(partLine), restoringLine(rejected)] : parts.map(partLine);
      this.lines = [...above, ...this.chosen.map((row) => this.paperLine(row))];
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
    this.lines.push(...rows.map((row) => this.paperLine(row)));
    this.fill();
    const first = this.lines.find((line) => line.row);
    if (isNew && first) pick.activeItems = [first];
    else pick.activeItems = active;
    this.setTitle();
  }

  private paperLine(row: ExploredRow): Line {
    return paperLine(row, this.verdicts.of(row.id));
  }

  /** Draws the papers where they are, with what is known of them now; `rows` replace those with their ids. */
  private drawAgain(rows: readonly ExploredRow[] = []): void {
    const active = this.pick.activeItems[0];
    const at = active ? this.lines.indexOf(active) : -1;
    const known = new Map(rows.map((row) => [row.id, row]));
    this.lines = this.lines.map((line) =>
      line.row ? this.paperLine(known.get(line.row.id) ?? line.row) : line,
    );
    this.fill();
    const line = this.lines[at];
    if (line) this.pick.activeItems = [line];
  }

  private setTitle(): void {
    const papers = this.lines.filter((line) => line.row).length;
    const state = this.isSearching ? "searching, " : "";
    const { verdicts } = this;
    const about = verdicts.areNew
      ? ` · ${verdicts.summary}: search again`
      : ` on “${shorten(this.query, MAX_TITLE)}”`;
    this.pick.title = `Citewell: ${state}${papers} papers${about}`;
  }

  private finish(answer: Explored | undefined): void {
    if (!answer) {
      this.showMessage("The Citewell server is not running.");
      return;
    }
    if (this.isNew) this.take(answer);
    this.setBusy(false);
    this.drawAgain(answer.rows);
    this.setTitle();
    const problem = answer.problems[0];
    if (answer.rows.length === 0)
      this.showMessage(problem ? `${problem.message} ${problem.hint}` : "No papers found.");
  }

  /** Shows a message below the parts of the question and the ticked papers. */
  private showMessage(text: string): void {
    const kept = this.lines.filter(
      ({ part, restores, row }) =>
        part || restores || this.chosen.some((one) => row && isSamePaper(one, row)),
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
    if (rows.length === this.chosen.length) {
      const restores = lines.some((line) => line.restores);
      if (part) this.searchWithout(part);
      else if (restores) this.restore();
      if (part || restores) return;
    }
    for (const row of rows) {
      if (!this.ticks.has(row.id)) this.ticks.set(row.id, this.ticks.size);
    }
    this.chosen = rows.sort((one, other) => this.rank(one) - this.rank(other));
  }

  private rank(row: ExploredRow): number {
    return this.ticks.get(row.id) ?? 0;
  }

  private searchWithout(part: Part): void {
    this.searchedText = part.rest;
    this.pick.value = part.rest;
    void this.search({ query: part.rest });
  }
}
