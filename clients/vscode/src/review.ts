/** The review of a paper as a view: findings by part; a row opens its place, its buttons act there. */

import * as vscode from "vscode";
import type { Connection } from "./client";
import { isServed } from "./languages";

interface Row {
  readonly uri: string;
  readonly range: { readonly start: { readonly line: number; readonly character: number } };
  readonly group: string;
  readonly code: string;
  readonly weight: string;
  readonly message: string;
  readonly hint: string;
  /** Arguments of `citewell.act` by action. */
  readonly actions: Readonly<Record<string, { readonly title: string }>>;
}

interface Answer {
  readonly rows: readonly Row[];
  readonly figures?: readonly (readonly [string, string])[];
  readonly summary?: string;
}

/** Quick fixes whose edits are asked for with the list. */
const MAX_FIXES = 10;

type Icon = [string, vscode.ThemeColor?];
const NOTE: Icon = ["info"];
const ICONS: Record<string, Icon> = {
  blocking: ["error", new vscode.ThemeColor("list.errorForeground")],
  "to correct": ["warning", new vscode.ThemeColor("list.warningForeground")],
};

/** A part with its findings, or one finding or figure. */
export class Line extends vscode.TreeItem {
  constructor(
    label: string,
    readonly children: readonly Line[] = [],
    readonly row?: Row,
  ) {
    super(label, vscode.TreeItemCollapsibleState[children.length ? "Expanded" : "None"]);
  }
}

export class ReviewView implements vscode.TreeDataProvider<Line>, vscode.Disposable {
  private lines: readonly Line[] = [];
  private document: vscode.TextDocument | undefined;
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view = vscode.window.createTreeView("citewell.review", { treeDataProvider: this });
  private readonly edits = vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    if (contentChanges.length && this.document && isServed(document))
      this.view.message = "The text has changed since the review.";
  });

  constructor(private readonly server: Connection) {}

  dispose(): void {
    this.edits.dispose();
    this.view.dispose();
    this.changed.dispose();
  }

  getTreeItem(line: Line): vscode.TreeItem {
    return line;
  }

  getChildren(line?: Line): Line[] {
    return [...(line?.children ?? this.lines)];
  }

  /** Reviews the paper of a document and shows the findings. */
  async review(document: vscode.TextDocument | undefined): Promise<void> {
    if (!document) {
      await vscode.window.showWarningMessage("Open a LaTeX or Markdown file first.");
      return;
    }
    const found = await this.server.executeLong<Answer>("citewell.review", document.uri.toString());
    if (!found?.summary) return;
    this.document = document;
    this.lines = linesOf(found);
    this.view.description = found.summary;
    this.view.message = "";
    await vscode.commands.executeCommand("setContext", "citewell.reviewed", true);
    this.changed.fire();
    await vscode.commands.executeCommand("citewell.review.focus");
  }

  /** Reviews the same paper again. */
  again(): Promise<void> {
    return this.review(this.document);
  }

  /** Makes the edits of an action of a row, and reviews again. */
  async act(line: Line | undefined, name: string): Promise<void> {
    const action = line?.row?.actions[name];
    if (!line?.row || !action) return;
    // The server plans the edit on the editor's text, so the document must be open.
    await vscode.workspace.openTextDocument(vscode.Uri.parse(line.row.uri));
    await this.server.execute("citewell.act", action);
    await this.again();
  }

  /** Makes the file consistent, or lists the quick fixes at the place and does the chosen one. */
  async fix(line: Line | undefined): Promise<void> {
    if (!line?.row) return;
    if (line.row.actions.consistent) return this.act(line, "consistent");
    const [uri, options] = placeOf(line.row);
    await vscode.window.showTextDocument(uri, options);
    const found = await vscode.commands.executeCommand<vscode.CodeAction[]>(
      "vscode.executeCodeActionProvider",
      uri,
      options.selection,
      "quickfix",
      MAX_FIXES,
    );
    const items = found.map((fix) => ({ label: fix.title, fix }));
    const chosen = await vscode.window.showQuickPick(items, { placeHolder: line.row.message });
    if (!chosen) return;
    const { edit, command } = chosen.fix;
    if (edit) await vscode.workspace.applyEdit(edit);
    if (command) await vscode.commands.executeCommand(command.command, ...(command.arguments ?? []));
    await this.again();
  }
}

function linesOf({ rows, figures }: Answer): Line[] {
  const lines = [...new Set(rows.map(({ group }) => group))].map((title) => {
    const found = rows.filter(({ group }) => group === title).map(lineOf);
    const group = new Line(title, found);
    group.description = String(found.length);
    return group;
  });
  const texts = (figures ?? []).map(([label, value]) => new Line(`${label}: ${value}`));
  return texts.length ? [...lines, new Line("Figures", texts)] : lines;
}

function lineOf(row: Row): Line {
  const line = new Line(row.message, [], row);
  const [uri, options] = placeOf(row);
  line.iconPath = new vscode.ThemeIcon(...(ICONS[row.weight] ?? NOTE));
  line.description = `${uri.path.slice(uri.path.lastIndexOf("/") + 1)}:${row.range.start.line + 1} ${row.code}`;
  line.tooltip = [row.message, row.hint].filter(Boolean).join("\n\n");
  // A suggested work has no place of its own.
  const fix = row.code === "work-suggested" ? [] : ["fix"];
  line.contextValue = [...Object.keys(row.actions), ...fix].join(" ");
  line.command = { command: "vscode.open", title: "Open", arguments: [uri, options] };
  return line;
}

function placeOf({ uri, range: { start } }: Row): [vscode.Uri, vscode.TextDocumentShowOptions] {
  const at = new vscode.Position(start.line, start.character);
  return [vscode.Uri.parse(uri), { selection: new vscode.Range(at, at) }];
}
