/** Triggers completion in a citation where the editor does not do so by itself. */

import * as vscode from "vscode";
import { PROSE } from "./languages";
import { isInCitation } from "./markdown";

const WINDOW = 300;

/** Triggers completion at each letter typed in a citation of a prose language. */
export function suggestInProse(): vscode.Disposable {
  return vscode.workspace.onDidChangeTextDocument((event) => {
    const editor = vscode.window.activeTextEditor;
    const change = event.contentChanges[0];
    if (!change || event.contentChanges.length !== 1 || change.text.length !== 1) return;
    if (event.document !== editor?.document || !PROSE.includes(event.document.languageId)) return;
    if (event.reason !== undefined || change.text === "\n") return;
    const { line, character } = change.range.start;
    const before = event.document.lineAt(line).text.slice(Math.max(0, character - WINDOW), character + 1);
    // `auto` shows nothing if there are no suggestions, and keeps an open list.
    if (isInCitation(before))
      void vscode.commands.executeCommand("editor.action.triggerSuggest", { auto: true });
  });
}
