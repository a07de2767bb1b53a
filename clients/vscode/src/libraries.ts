/** Choosing the library of papers: an existing one, or one to build. */

import * as path from "node:path";
import * as vscode from "vscode";
import type { Connection } from "./client";
import { run, runShown } from "./run";
import type { EngineStatus } from "./status";

/** The fields used of one item of `citewell library list --json`. */
interface Library {
  readonly path: string;
  readonly name: string;
  readonly works: number;
}

interface Choice extends vscode.QuickPickItem {
  readonly run?: () => Promise<void>;
}

const EXPORTS = ["bib", "json", "jsonl", "zst", "gz", "tex", "md"];

/** Lists existing libraries and those that can be built; resolves when the choice is carried out. */
export async function chooseLibrary(connection: Connection, output: vscode.LogOutputChannel): Promise<void> {
  if (connection.state.kind !== "running") {
    await vscode.commands.executeCommand("citewell.showMenu");
    return;
  }
  const program = connection.state.server.command;
  const add = (what: string, paths: readonly string[]) => build(connection, output, program, what, paths);
  const present = await libraries(program);
  const choices: Choice[] = [
    {
      label: "$(package) Starter library",
      description: "410,000 papers",
      detail: "ACL, NeurIPS, ICML, ICLR, CVPR, AAAI ... installed with the server; no download",
      run: () => add("the starter library", ["starter"]),
    },
    {
      label: "$(files) My own files ...",
      detail: ".bib files, Zotero and CSL-JSON exports, JSON Lines; or papers, to learn how you cite",
      run: async () => {
        const files = await askForFiles();
        if (files.length > 0) await add(files.map((file) => path.basename(file)).join(", "), files);
      },
    },
    {
      label: "$(library) Zotero",
      detail: "The Zotero running on this machine, with Better BibTeX",
      run: () => add("your Zotero library", ["zotero:"]),
    },
    {
      label: "$(cloud-download) Download more papers",
      detail: "OpenAlex, Semantic Scholar, arXiv, ACL Anthology: addresses and supported formats",
      run: () => showFormats(program, output),
    },
  ];
  if (present.length > 0) {
    choices.push({ label: "On this machine", kind: vscode.QuickPickItemKind.Separator });
    for (const one of present) {
      choices.push({
        label: `$(database) ${one.name}`,
        description: `${one.works.toLocaleString("en")} papers`,
        detail: one.path,
        run: () => use(one),
      });
    }
  }
  const chosen = await vscode.window.showQuickPick(choices, {
    title: "Citewell: Choose a library",
    matchOnDescription: true,
  });
  await chosen?.run?.();
}

/** Flags that pass the library settings of the editor to the command line. */
function flags(): string[] {
  const section = vscode.workspace.getConfiguration("citewell");
  const found: string[] = [];
  for (const [name, wire] of [
    ["library.path", "library.path"],
    ["library.name", "library.name"],
    ["zotero.url", "zotero.url"],
  ] as const) {
    const set = section.inspect<string>(wire);
    const value = set?.workspaceFolderValue ?? set?.workspaceValue ?? set?.globalValue;
    if (typeof value === "string" && value) found.push("--set", `${name}=${value}`);
  }
  return found;
}

async function libraries(program: string): Promise<Library[]> {
  const lines: string[] = [];
  const outcome = await run(
    program,
    ["-q", ...flags(), "library", "list", "--json"],
    (line, isError) => isError || lines.push(line),
  );
  if (outcome.code !== 0) return [];
  try {
    return JSON.parse(lines.join("\n")) as Library[];
  } catch {
    return [];
  }
}

async function build(
  connection: Connection,
  output: vscode.LogOutputChannel,
  program: string,
  what: string,
  paths: readonly string[],
): Promise<void> {
  const title = `Citewell: adding ${what}`;
  const outcome = await runShown(title, program, [...flags(), "library", "add", ...paths], output);
  if (outcome.cancelled) return;
  if (outcome.code === undefined || outcome.code > 1) {
    const show = "Show Output";
    const reason = outcome.tail.split("\n").slice(-3).join(" ");
    if ((await vscode.window.showErrorMessage(`${title} failed. ${reason}`, show)) === show) output.show();
    return;
  }
  await connection.restart();
  const status = await connection.execute<EngineStatus>("citewell.status");
  const papers = status?.works.toLocaleString("en") ?? "0";
  void vscode.window.showInformationMessage(`Citewell searches ${papers} papers now.`);
}

async function use(library: Library): Promise<void> {
  const section = vscode.workspace.getConfiguration("citewell.library");
  await section.update("name", library.name, vscode.ConfigurationTarget.Global);
}

async function askForFiles(): Promise<string[]> {
  const files = await vscode.window.showOpenDialog({
    canSelectMany: true,
    openLabel: "Add to the Library",
    filters: { "Bibliographies, exports and papers": EXPORTS, "All files": ["*"] },
  });
  return (files ?? []).map((file) => file.fsPath);
}

async function showFormats(program: string, output: vscode.LogOutputChannel): Promise<void> {
  const lines: string[] = [];
  await run(program, ["library", "formats"], (line) => lines.push(line));
  const content = [
    "What Citewell reads, and where it comes from. Download one of these, then run",
    '"Citewell: Choose a Library of Papers" and select "My own files", or run `citewell library add FILE`.',
    "",
    ...lines,
    "",
    "OpenAlex:          https://docs.openalex.org/download-all-data/openalex-snapshot",
    "Semantic Scholar:  https://api.semanticscholar.org/api-docs/datasets",
    "arXiv metadata:    https://www.kaggle.com/datasets/Cornell-University/arxiv",
    "ACL Anthology:     https://github.com/acl-org/acl-anthology",
    "",
  ].join("\n");
  output.info("Listed the formats of libraries");
  await vscode.window.showTextDocument(
    await vscode.workspace.openTextDocument({ content, language: "plaintext" }),
  );
}

const ASKED_KEY = "askedForLibrary";

/** Offers the choice once, ever, to an author who has a server and no library. */
export async function offerLibrary(memory: vscode.Memento): Promise<void> {
  if (memory.get<boolean>(ASKED_KEY)) return;
  await memory.update(ASKED_KEY, true);
  const choose = "Choose a Library";
  const text = "Citewell is running and has no papers to search yet.";
  if ((await vscode.window.showInformationMessage(text, choose)) === choose) {
    await vscode.commands.executeCommand("citewell.chooseLibrary");
  }
}
