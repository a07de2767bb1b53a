/** The languages that the extension supports; those of the server are in `model/flavours.py`. */

import type * as vscode from "vscode";

/** Prose languages, for which quick suggestions are off by default. */
export const PROSE: readonly string[] = ["markdown", "quarto", "rmd"];
export const LANGUAGES: readonly string[] = ["latex", "tex", "bibtex", ...PROSE];

/** Whether a document is synchronized with the server. */
export function isServed({ languageId, uri }: vscode.TextDocument): boolean {
  return LANGUAGES.includes(languageId) && (uri.scheme === "file" || uri.scheme === "untitled");
}
