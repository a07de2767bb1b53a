/** The languages that the extension supports. */

import type * as vscode from "vscode";

export const LANGUAGES: readonly string[] = ["latex", "tex", "bibtex", "markdown", "quarto", "rmd"];

/** Whether a document is synchronized with the server. */
export function isServed({ languageId, uri }: vscode.TextDocument): boolean {
  return LANGUAGES.includes(languageId) && (uri.scheme === "file" || uri.scheme === "untitled");
}
