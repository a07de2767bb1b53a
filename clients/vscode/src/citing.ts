/** What lists of papers share: where to cite, how a paper is listed, and citing what was chosen. */

import * as vscode from "vscode";
import type { Connection } from "./client";
import { columns, type PaperRow } from "./columns";
import { isServed } from "./languages";

/** Characters of a selection that are taken for typed words. */
const MAX_WORDS = 200;

/** A paper in a quick pick. */
export interface Item extends vscode.QuickPickItem {
  readonly row?: PaperRow;
}

/** Where the citation goes. */
export interface Target {
  readonly editor: vscode.TextEditor;
  readonly position: vscode.Position;
}

/** The cursor of the active editor, if Citewell serves its document. */
export function currentTarget(): Target | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && isServed(editor.document) ? { editor, position: editor.selection.end } : undefined;
}

/** The selected words on one line; empty if nothing or a long text is selected. */
export function selectedWords(target: Target | undefined): string {
  const { editor } = target ?? {};
  const selected = editor && !editor.selection.isEmpty ? editor.document.getText(editor.selection) : "";
  return selected.length <= MAX_WORDS ? selected.replace(/\s+/g, " ").trim() : "";
}

/** Cites the papers in the order chosen, in one citation at the cursor: all of them or none. */
export async function citePapers(
  connection: Connection,
  target: Target | undefined,
  rows: readonly PaperRow[],
): Promise<void> {
  if (rows.length === 0) return;
  if (!target) {
    await vscode.window.showWarningMessage(
      "Open the LaTeX, Markdown or .bib file to cite in, then find the paper again.",
    );
    return;
  }
  const { editor, position } = target;
  const papers = rows.map(({ id, key }) => ({ work: id, key }));
  const answer = await connection.execute<{ applied: boolean; end?: vscode.Position }>(
    "citewell.insertPaper",
    {
      uri: editor.document.uri.toString(),
      ...(papers.length > 1 ? { papers } : papers[0]),
      position: { line: position.line, character: position.character },
    },
  );
  const shown = await vscode.window.showTextDocument(editor.document, {
    viewColumn: editor.viewColumn ?? vscode.ViewColumn.Active,
  });
  if (!answer?.end) return;
  const end = new vscode.Position(answer.end.line, answer.end.character);
  shown.selection = new vscode.Selection(end, end);
}

/** The paper as a row that is shown whatever the author types. */
export function item(row: PaperRow): Item {
  return { ...columns(row), row, alwaysShow: true };
}

export function isSamePaper(one: PaperRow, other: PaperRow): boolean {
  return one.id === other.id && one.key === other.key;
}

/** A range as the protocol has it. */
export function plainRange({ start, end }: vscode.Range): object {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}
