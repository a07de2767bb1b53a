/** The languages that the extension serves. */

import type * as vscode from "vscode";

export const LANGUAGES: readonly string[] = ["latex", "tex", "bibtex", "markdown", "quarto", "rmd"];

/** True for a document that the server is told of. */
export function isServed({ languageId, uri }: vscode.TextDocument): boolean {
  return LANGUAGES.includes(languageId) && (uri.scheme === "file" || uri.scheme === "untitled");
}
