/** "Find a paper": a list that searches while one types, and cites what is chosen at the cursor. */

import * as vscode from "vscode";
import type { Connection } from "./client";
import { columns, type PaperRow, preview } from "./columns";
import { isServed } from "./languages";

const QUIET_MS = 120;
/** Rows that are asked for: what fits on a screen, and some. */
const LIMIT = 30;
const SCHEME = "citewell-paper";
/** The list hangs over the top of the page beside it: so many lines of that are left free. */
const LINES_BEHIND_LIST = 18;

interface Item extends vscode.QuickPickItem {
  readonly row?: PaperRow;
}

interface Target {
  readonly editor: vscode.TextEditor;
  readonly position: vscode.Position;
}

interface Answer {
  readonly rows: readonly PaperRow[];
  readonly problems: readonly { readonly message: string; readonly hint: string }[];
}

/** The page beside the list: the paper that is marked in it. */
export class Preview implements vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  readonly uri = vscode.Uri.from({ scheme: SCHEME, path: "Paper" });
  private text = "";

  static register(context: vscode.ExtensionContext): Preview {
    const page = new Preview();
    context.subscriptions.push(
      page.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, page),
    );
    return page;
  }

  provideTextDocumentContent(): string {
    return this.text;
  }

  show(row: PaperRow): void {
    this.text = "\n".repeat(LINES_BEHIND_LIST) + preview(row);
    this.changed.fire(this.uri);
  }

  async open(): Promise<void> {
    await vscode.window.showTextDocument(this.uri, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: true,
    });
  }

  async close(): Promise<void> {
    const tabs = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter((tab) => tab.input instanceof vscode.TabInputText && tab.input.uri.scheme === SCHEME);
    if (tabs.length > 0) await vscode.window.tabGroups.close(tabs, true);
  }
}

/** Shows the list; resolves when it is closed and what was chosen is cited. `several`: with a box at each paper. */
export async function findPaper(connection: Connection, page: Preview, several = false): Promise<void> {
  const target = currentTarget();
  const list = new PaperList(connection, page, target, several);
  const rows = await list.choose();
  if (rows.length === 0) return;
  if (!target) {
    await vscode.window.showWarningMessage(
      "Open the LaTeX, Markdown or .bib file that is to take the citation, then find the paper again.",
    );
    return;
  }
  await insertAll(connection, target, rows);
}

function currentTarget(): Target | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && isServed(editor.document) ? { editor, position: editor.selection.end } : undefined;
}

/** Cites the papers in the order in which they were chosen: the first at the cursor, the others in the same citation. */
async function insertAll(connection: Connection, target: Target, rows: readonly PaperRow[]): Promise<void> {
  const { editor } = target;
  let at = target.position;
  let end: vscode.Position | undefined;
  for (const row of rows) {
    const answer = await connection.ask<{ applied: boolean; end?: vscode.Position }>("citewell.insertPaper", {
      uri: editor.document.uri.toString(),
      work: row.id,
      key: row.key,
      position: { line: at.line, character: at.character },
    });
    // Why not was said; what was cited before stands with its entry.
    if (!answer?.applied) break;
    if (answer.end) {
      end = new vscode.Position(answer.end.line, answer.end.character);
      // Before the bracket that closes the citation: there the next one is taken in.
      at = end.translate(0, end.character > 0 ? -1 : 0);
    }
  }
  const shown = await vscode.window.showTextDocument(editor.document, {
    viewColumn: editor.viewColumn ?? vscode.ViewColumn.Active,
  });
  if (end) shown.selection = new vscode.Selection(end, end);
}

class PaperList {
  private readonly pick = vscode.window.createQuickPick<Item>();
  private readonly togglePreview: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("open-preview"),
    tooltip: "Show the marked paper beside the list",
  };
  private readonly toggleSeveral: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("checklist"),
    tooltip: "Choose several papers",
  };
  /** Those with a tick, in the order in which they got it; they outlive the search that found them. */
  private chosen: PaperRow[] = [];
  private found: readonly PaperRow[] = [];
  private isFilling = false;
  private timer: NodeJS.Timeout | undefined;
  private request: vscode.CancellationTokenSource | undefined;
  private showsPage = false;

  constructor(
    private readonly connection: Connection,
    private readonly page: Preview,
    private readonly target: Target | undefined,
    several: boolean,
  ) {
    const { pick } = this;
    this.setSeveral(several);
    pick.placeholder = "Words of the title, an author, or what the paper is about";
    pick.matchOnDescription = false;
    pick.matchOnDetail = false;
    // The order is the engine's. Not in the typed interface yet; without it the list sorts by its own match.
    (pick as { sortByLabel?: boolean }).sortByLabel = false;
    pick.buttons = [this.toggleSeveral, this.togglePreview];
    pick.value = this.selectedWords();
  }

  /** What was chosen; none when the list was closed. */
  choose(): Promise<readonly PaperRow[]> {
    const { pick } = this;
    return new Promise((done) => {
      let accepted: readonly PaperRow[] = [];
      pick.onDidChangeValue(() => this.searchSoon(QUIET_MS));
      pick.onDidChangeActive(([item]) => item?.row && this.page.show(item.row));
      pick.onDidTriggerButton((button) => {
        if (button === this.togglePreview) return this.toggle();
        this.setSeveral(!pick.canSelectMany);
        this.fill();
      });
      pick.onDidChangeSelection((items) => this.tick(items));
      pick.onDidAccept(() => {
        const marked = (pick.canSelectMany ? pick.activeItems : pick.selectedItems)[0]?.row;
        // Without a tick Enter means the paper that is marked, as it does where one is chosen.
        accepted = this.chosen.length > 0 ? this.chosen : marked ? [marked] : [];
        if (accepted.length > 0) pick.hide();
      });
      pick.onDidHide(async () => {
        this.stop();
        pick.dispose();
        if (this.showsPage) await this.page.close();
        done(accepted);
      });
      pick.show();
      this.searchSoon(0);
    });
  }

  private selectedWords(): string {
    const { editor } = this.target ?? {};
    const selected = editor && !editor.selection.isEmpty ? editor.document.getText(editor.selection) : "";
    return selected.length <= 200 ? selected.replace(/\s+/g, " ").trim() : "";
  }

  private async toggle(): Promise<void> {
    this.showsPage = !this.showsPage;
    this.pick.ignoreFocusOut = this.showsPage;
    await (this.showsPage ? this.page.open() : this.page.close());
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.request?.cancel();
    this.request?.dispose();
    this.request = undefined;
  }

  private searchSoon(wait: number): void {
    this.stop();
    this.pick.busy = true;
    this.timer = setTimeout(() => void this.search(), wait);
  }

  private async search(): Promise<void> {
    const request = new vscode.CancellationTokenSource();
    this.request = request;
    try {
      const answer = await this.connection.ask<Answer>("citewell.search", this.question(), request.token);
      if (!request.token.isCancellationRequested) this.show(answer);
    } catch (error) {
      if (!request.token.isCancellationRequested) this.say(`The search failed: ${String(error)}`);
    } finally {
      if (this.request === request) this.pick.busy = false;
    }
  }

  private question(): object {
    const query = { query: this.pick.value, limit: LIMIT };
    if (!this.target) return query;
    const { editor, position } = this.target;
    return {
      ...query,
      uri: editor.document.uri.toString(),
      position: { line: position.line, character: position.character },
    };
  }

  private show(answer: Answer | undefined): void {
    if (!answer) this.say("The Citewell server is not running.");
    else if (answer.rows.length > 0) {
      this.found = answer.rows;
      this.fill();
    } else {
      const problem = answer.problems[0];
      this.say(problem ? `${problem.message} ${problem.hint}` : this.pick.value ? "No papers found." : "");
    }
  }

  private say(text: string): void {
    this.found = [];
    this.fill(text ? [{ label: `$(info) ${text}`, alwaysShow: true }] : []);
  }

  private setSeveral(several: boolean): void {
    const { pick } = this;
    pick.canSelectMany = several;
    pick.title = several ? "Citewell: Find papers, and cite those with a tick" : "Citewell: Find a paper";
    if (!several) this.chosen = [];
  }

  /** Those with a tick first, whatever is searched, then what was found. */
  private fill(said: readonly Item[] = []): void {
    const { pick } = this;
    const ticked = this.chosen.map(item);
    const rest = this.found.filter((row) => !this.chosen.some((one) => same(one, row))).map(item);
    this.isFilling = true;
    pick.items = [...ticked, ...said, ...rest];
    if (pick.canSelectMany) pick.selectedItems = ticked;
    this.isFilling = false;
  }

  private tick(items: readonly Item[]): void {
    if (!this.pick.canSelectMany || this.isFilling) return;
    const rows = items.flatMap(({ row }) => (row ? [row] : []));
    const kept = this.chosen.filter((one) => rows.some((row) => same(one, row)));
    this.chosen = [...kept, ...rows.filter((row) => !kept.some((one) => same(one, row)))];
  }
}

function item(row: PaperRow): Item {
  return { ...columns(row), row, alwaysShow: true };
}

function same(one: PaperRow, other: PaperRow): boolean {
  return one.id === other.id && one.key === other.key;
}
