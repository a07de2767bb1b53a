/** The review of the paper of the active editor: a list by part; each row opens its place. */

import * as vscode from "vscode";
import type { Connection } from "./client";

interface Row {
  readonly uri: string;
  readonly range: { readonly start: { readonly line: number; readonly character: number } };
  readonly group: string;
  readonly code: string;
  readonly weight: string;
  readonly message: string;
  readonly hint: string;
  /** Arguments of `citewell.insertPaper` that cite an uncited name. */
  readonly cite?: object;
}

interface Item extends vscode.QuickPickItem {
  readonly row?: Row;
}

const CITE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("quote"),
  tooltip: "Cite the work there, and review again",
};

const ICONS: Record<string, string> = { blocking: "$(error)", "to correct": "$(warning)", note: "$(info)" };

/** Reviews the paper and lists the findings. The list stays open while rows are looked at. */
export async function reviewPaper(
  server: Connection,
  document = vscode.window.activeTextEditor?.document,
): Promise<void> {
  if (!document) {
    await vscode.window.showWarningMessage("Open a LaTeX or Markdown file first.");
    return;
  }
  const found = await server.executeLong<{ rows: Row[]; summary?: string }>(
    "citewell.review",
    document.uri.toString(),
  );
  if (!found?.summary) return;
  if (!found.rows.length) {
    void vscode.window.showInformationMessage("Citewell: the review has no findings.");
    return;
  }
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = `Review: ${found.summary}`;
  pick.placeholder = "Filter by words or codes; Enter opens the place";
  pick.matchOnDetail = pick.matchOnDescription = pick.ignoreFocusOut = true;
  pick.items = items(found.rows);
  pick.onDidAccept(() => void open(pick.selectedItems[0]?.row));
  // The places are those of the texts that were reviewed.
  let changed = false;
  const reviewed = new Set(found.rows.map(({ uri }) => vscode.Uri.parse(uri).toString()));
  const changes = vscode.workspace.onDidChangeTextDocument(({ document: { uri }, contentChanges }) => {
    changed ||= contentChanges.length > 0 && reviewed.has(uri.toString());
  });
  pick.onDidTriggerItemButton(async ({ item: { row } }) => {
    pick.hide();
    if (!changed && row?.cite) await server.execute("citewell.insertPaper", row.cite);
    await reviewPaper(server, document);
  });
  pick.onDidHide(() => {
    changes.dispose();
    pick.dispose();
  });
  pick.show();
}

function items(rows: readonly Row[]): Item[] {
  const found: Item[] = [];
  let group = "";
  for (const row of rows) {
    if (row.group !== group) {
      group = row.group;
      found.push({ label: group, kind: vscode.QuickPickItemKind.Separator });
    }
    const file = row.uri.slice(row.uri.lastIndexOf("/") + 1);
    found.push({
      label: `${ICONS[row.weight] ?? ""} ${row.message}`,
      description: row.code,
      detail: [`${decodeURIComponent(file)}:${row.range.start.line + 1}`, row.hint]
        .filter(Boolean)
        .join("  "),
      buttons: row.cite ? [CITE] : [],
      row,
    });
  }
  return found;
}

async function open(row: Row | undefined): Promise<void> {
  if (!row) return;
  const { line, character } = row.range.start;
  const at = new vscode.Position(line, character);
  await vscode.window.showTextDocument(vscode.Uri.parse(row.uri), {
    selection: new vscode.Range(at, at),
    preserveFocus: true,
  });
}
