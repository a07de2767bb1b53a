/** "Find a Paper and Cite It": a quick pick that searches as the author types and cites at the cursor. */

import * as vscode from "vscode";
import {
  citePapers,
  currentTarget,
  type Item,
  isSamePaper,
  item,
  selectedWords,
  type Target,
} from "./citing";
import type { Connection } from "./client";
import { type PaperRow, preview } from "./columns";

const DEBOUNCE_MS = 120;
/** Rows requested: a little more than fits on a screen. */
const LIMIT = 30;
const SCHEME = "citewell-paper";
/** Blank lines at the top of the preview, which the quick pick covers. */
const LINES_BEHIND_LIST = 18;

interface SearchResult {
  readonly rows: readonly PaperRow[];
  readonly problems: readonly { readonly message: string; readonly hint: string }[];
  /** Authors, venues, years ... that were read out of the words. */
  readonly understood?: readonly { readonly kind: string; readonly value: string }[];
}

/** The page next to the list that previews its active paper, or says what the papers are about. */
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

  show(text: string): void {
    this.text = "\n".repeat(LINES_BEHIND_LIST) + text;
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

/** Shows the list; resolves once it is closed and the chosen papers are cited. `multiple`: with checkboxes. */
export async function findPaper(connection: Connection, page: Preview, multiple = false): Promise<void> {
  const target = currentTarget();
  const list = new PaperList(connection, page, target, multiple);
  const rows = await list.choose();
  await citePapers(connection, target, rows);
}

class PaperList {
  private readonly pick = vscode.window.createQuickPick<Item>();
  private readonly togglePreview: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("open-preview"),
    tooltip: "Preview the selected paper beside the list",
  };
  private readonly searchBeside: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("references"),
    tooltip: "List papers cited together with the selected ones",
  };
  private readonly toggleMultiple: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("checklist"),
    tooltip: "Select multiple papers",
  };
  /** The checked papers, in the order checked; they stay in the list across searches. */
  private chosen: PaperRow[] = [];
  private found: readonly PaperRow[] = [];
  private understood: readonly string[] = [];
  private isFilling = false;
  private timer: NodeJS.Timeout | undefined;
  private request: vscode.CancellationTokenSource | undefined;
  private isPreviewOpen = false;

  constructor(
    private readonly connection: Connection,
    private readonly page: Preview,
    private readonly target: Target | undefined,
    multiple: boolean,
  ) {
    const { pick } = this;
    this.setMultiple(multiple);
    pick.placeholder = "Title words, an author, or a topic";
    pick.matchOnDescription = false;
    pick.matchOnDetail = false;
    // Keep the engine's order. Not in the typed API yet; by default the list sorts by its own match.
    (pick as { sortByLabel?: boolean }).sortByLabel = false;
    pick.value = selectedWords(this.target);
  }

  /** The chosen papers; empty if the list was dismissed. */
  choose(): Promise<readonly PaperRow[]> {
    const { pick } = this;
    return new Promise((done) => {
      let accepted: readonly PaperRow[] = [];
      pick.onDidChangeValue(() => this.scheduleSearch(DEBOUNCE_MS));
      pick.onDidChangeActive(([item]) => item?.row && this.page.show(preview(item.row)));
      pick.onDidTriggerButton((button) => {
        if (button === this.togglePreview) return this.togglePreviewPage();
        if (button === this.searchBeside) return this.scheduleSearch(0);
        this.setMultiple(!pick.canSelectMany);
        this.fill();
      });
      pick.onDidChangeSelection((items) => this.updateChosen(items));
      pick.onDidAccept(() => {
        const active = (pick.canSelectMany ? pick.activeItems : pick.selectedItems)[0]?.row;
        // With nothing checked, Enter chooses the active paper, as in single selection.
        accepted = this.chosen.length > 0 ? this.chosen : active ? [active] : [];
        if (accepted.length > 0) pick.hide();
      });
      pick.onDidHide(async () => {
        this.stop();
        pick.dispose();
        if (this.isPreviewOpen) await this.page.close();
        done(accepted);
      });
      pick.show();
      this.scheduleSearch(0);
    });
  }

  private async togglePreviewPage(): Promise<void> {
    this.isPreviewOpen = !this.isPreviewOpen;
    this.pick.ignoreFocusOut = this.isPreviewOpen;
    await (this.isPreviewOpen ? this.page.open() : this.page.close());
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.request?.cancel();
    this.request?.dispose();
    this.request = undefined;
  }

  private scheduleSearch(wait: number): void {
    this.stop();
    this.pick.busy = true;
    this.timer = setTimeout(() => void this.search(), wait);
  }

  private async search(): Promise<void> {
    const request = new vscode.CancellationTokenSource();
    this.request = request;
    try {
      const answer = await this.connection.execute<SearchResult>(
        "citewell.search",
        this.params(),
        request.token,
      );
      if (!request.token.isCancellationRequested) this.show(answer);
    } catch (error) {
      if (!request.token.isCancellationRequested) this.showMessage(`The search failed: ${String(error)}`);
    } finally {
      if (this.request === request) this.pick.busy = false;
    }
  }

  private params(): object {
    const chosen = this.chosen.map(({ id, key }) => (id ? { work: id } : { key }));
    const query = { query: this.pick.value, limit: LIMIT, chosen };
    if (!this.target) return query;
    const { editor, position } = this.target;
    return {
      ...query,
      uri: editor.document.uri.toString(),
      position: { line: position.line, character: position.character },
    };
  }

  private show(answer: SearchResult | undefined): void {
    if (!answer) this.showMessage("The Citewell server is not running.");
    else if (answer.rows.length > 0) {
      this.found = answer.rows;
      this.understood = (answer.understood ?? []).map(
        ({ kind, value }) => `${kind.replace("_", " ")}: ${value}`,
      );
      this.setTitle();
      this.fill();
    } else {
      const problem = answer.problems[0];
      this.showMessage(
        problem ? `${problem.message} ${problem.hint}` : this.pick.value ? "No papers found." : "",
      );
    }
  }

  private showMessage(text: string): void {
    this.found = [];
    this.fill(text ? [{ label: `$(info) ${text}`, alwaysShow: true }] : []);
  }

  private setMultiple(multiple: boolean): void {
    const { pick } = this;
    pick.canSelectMany = multiple;
    pick.buttons = [...(multiple ? [this.searchBeside] : []), this.toggleMultiple, this.togglePreview];
    this.setTitle();
    if (!multiple) this.chosen = [];
  }

  /** Shows what was understood of the words in place of the title. */
  private setTitle(): void {
    const { pick } = this;
    const title = pick.canSelectMany
      ? "Citewell: Find papers and cite the selected ones"
      : "Citewell: Find a paper";
    pick.title = this.understood.length > 0 ? `Citewell: ${this.understood.join(" · ")}` : title;
  }

  /** Lists the checked papers, then a message or the papers found. */
  private fill(messages: readonly Item[] = []): void {
    const { pick } = this;
    const checked = this.chosen.map(item);
    const rest = this.found.filter((row) => !this.chosen.some((one) => isSamePaper(one, row))).map(item);
    this.isFilling = true;
    pick.items = [...checked, ...messages, ...rest];
    if (pick.canSelectMany) pick.selectedItems = checked;
    this.isFilling = false;
  }

  private updateChosen(items: readonly Item[]): void {
    if (!this.pick.canSelectMany || this.isFilling) return;
    const rows = items.flatMap(({ row }) => (row ? [row] : []));
    const kept = this.chosen.filter((one) => rows.some((row) => isSamePaper(one, row)));
    this.chosen = [...kept, ...rows.filter((row) => !kept.some((one) => isSamePaper(one, row)))];
  }
}
