/** "Fetch Papers for the Library": what the document cites and the library lacks, or what is typed;
 * "Fetch the Literature of This Paper": a selection that the server plans. */

import * as vscode from "vscode";
import type { Connection } from "./client";
import { isServed } from "./languages";

const EXAMPLE = "arxiv --category cs.CL --since 2024";

interface Choice extends vscode.QuickPickItem {
  readonly words?: string;
}

/** Asks what to fetch. The server then measures it, asks for confirmation and shows progress. */
export async function fetchPapers(connection: Connection): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  const suggestions =
    document && isServed(document)
      ? await connection.execute<string[]>("citewell.fetchSuggestions", document.uri.toString())
      : [];
  const words = suggestions?.length ? await choose(suggestions) : await type();
  if (words?.trim()) await connection.executeLong("citewell.fetch", { words });
}

/** Fetches the literature around the active paper, after the server has planned it and asked. */
export async function fetchLiterature(connection: Connection): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document && isServed(document)) {
    const paper = { uri: document.uri.toString(), paper: true };
    await connection.executeLong("citewell.fetch", paper);
  } else await vscode.window.showWarningMessage("Open a LaTeX, Markdown or .bib file first.");
}

async function choose(suggestions: readonly string[]): Promise<string | undefined> {
  const choices: Choice[] = suggestions.map((words) => ({ label: words, words }));
  choices.push({ label: "Something else ..." });
  const chosen = await vscode.window.showQuickPick(choices, {
    title: "Citewell: Which papers shall be fetched?",
    placeHolder: "Works that this document cites and the library lacks",
  });
  return chosen && (chosen.words ?? type());
}

function type(): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: "Citewell: Which papers shall be fetched?",
    prompt: "A source and what it selects by, as for `citewell library fetch`",
    value: EXAMPLE,
  });
}
