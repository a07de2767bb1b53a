/** Asks for the list of papers while one types in a citation, where the editor would not by itself. */

import * as vscode from "vscode";
import { isInCitation } from "./markdown";

/** Languages of prose, in which editors offer nothing while one types unless they are told to. */
const PROSE = new Set(["markdown", "quarto", "rmd"]);
const WINDOW = 300;

/** Opens the list at each letter that is typed in a citation of a prose language. */
export function suggestInProse(): vscode.Disposable {
  return vscode.workspace.onDidChangeTextDocument((event) => {
    const editor = vscode.window.activeTextEditor;
    const change = event.contentChanges[0];
    if (!change || event.contentChanges.length !== 1 || change.text.length !== 1) return;
    if (event.document !== editor?.document || !PROSE.has(event.document.languageId)) return;
    if (event.reason !== undefined || change.text === "\n") return;
    const { line, character } = change.range.start;
    const before = event.document.lineAt(line).text.slice(Math.max(0, character - WINDOW), character + 1);
    // `auto` keeps quiet where there is nothing to offer, and leaves a list that is open alone.
    if (isInCitation(before))
      void vscode.commands.executeCommand("editor.action.triggerSuggest", { auto: true });
  });
}
