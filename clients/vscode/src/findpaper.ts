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
  readonly problems: readonly { readonly message: string; readonly cure: string }[];
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

/** Shows the list; resolves when it is closed and what was chosen is cited. */
export async function findPaper(connection: Connection, page: Preview): Promise<void> {
  const target = currentTarget();
  const list = new PaperList(connection, page, target);
  const row = await list.choose();
  if (!row) return;
  if (!target) {
    await vscode.window.showWarningMessage(
      "Open the LaTeX, Markdown or .bib file that is to take the citation, then find the paper again.",
    );
    return;
  }
  await insert(connection, target, row);
}

function currentTarget(): Target | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && isServed(editor.document) ? { editor, position: editor.selection.end } : undefined;
}

async function insert(connection: Connection, target: Target, row: PaperRow): Promise<void> {
  const { editor, position } = target;
  const answer = await connection.ask<{ applied: boolean; end?: vscode.Position }>("citewell.insertPaper", {
    uri: editor.document.uri.toString(),
    work: row.id,
    key: row.key,
    position: { line: position.line, character: position.character },
  });
  await vscode.window.showTextDocument(editor.document, {
    viewColumn: editor.viewColumn ?? vscode.ViewColumn.Active,
  });
  if (answer?.applied && answer.end) {
    const end = new vscode.Position(answer.end.line, answer.end.character);
    editor.selection = new vscode.Selection(end, end);
  }
}

class PaperList {
  private readonly pick = vscode.window.createQuickPick<Item>();
  private readonly togglePreview: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("open-preview"),
    tooltip: "Show the marked paper beside the list",
  };
  private timer: NodeJS.Timeout | undefined;
  private request: vscode.CancellationTokenSource | undefined;
  private showsPage = false;

  constructor(
    private readonly connection: Connection,
    private readonly page: Preview,
    private readonly target: Target | undefined,
  ) {
    const { pick } = this;
    pick.title = "Citewell: Find a paper";
    pick.placeholder = "Words of the title, an author, or what the paper is about";
    pick.matchOnDescription = false;
    pick.matchOnDetail = false;
    // The order is the engine's. Not in the typed interface yet; without it the list sorts by its own match.
    (pick as { sortByLabel?: boolean }).sortByLabel = false;
    pick.buttons = [this.togglePreview];
    pick.value = this.selectedWords();
  }

  choose(): Promise<PaperRow | undefined> {
    const { pick } = this;
    return new Promise((done) => {
      let chosen: PaperRow | undefined;
      pick.onDidChangeValue(() => this.searchSoon(QUIET_MS));
      pick.onDidChangeActive(([item]) => item?.row && this.page.show(item.row));
      pick.onDidTriggerButton(() => this.toggle());
      pick.onDidAccept(() => {
        chosen = pick.selectedItems[0]?.row;
        if (chosen) pick.hide();
      });
      pick.onDidHide(async () => {
        this.stop();
        pick.dispose();
        if (this.showsPage) await this.page.close();
        done(chosen);
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
      this.pick.items = answer.rows.map((row) => ({ ...columns(row), row, alwaysShow: true }));
    } else {
      const problem = answer.problems[0];
      this.say(problem ? `${problem.message} ${problem.cure}` : this.pick.value ? "No paper was found." : "");
    }
  }

  private say(text: string): void {
    this.pick.items = text ? [{ label: `$(info) ${text}`, alwaysShow: true }] : [];
  }
}
