/** The menu of the status bar item, and the message if there is no server. */

import * as vscode from "vscode";
import type { Connection, ServerState } from "./client";
import { DONT_SHOW_AGAIN, type Silence } from "./silence";
import type { EngineStatus } from "./status";
import { libraryName } from "./status";
import { MINIMUM } from "./version";

interface Entry extends vscode.QuickPickItem {
  readonly command?: string;
  readonly argument?: unknown;
}

const execute = (id: string, ...rest: unknown[]) => vscode.commands.executeCommand(id, ...rest);

/** Shows the menu for the current state. */
export async function showMenu(connection: Connection, engine: EngineStatus | undefined): Promise<void> {
  const items = connection.state.kind === "running" ? serverItems(engine) : installItems();
  items.push(
    { label: "Server", kind: vscode.QuickPickItemKind.Separator },
    { label: "$(refresh) Restart the server", command: "citewell.restart" },
    { label: "$(output) Show the output", command: "citewell.showOutput" },
    { label: "$(bell) Show all messages again", command: "citewell.showMessagesAgain" },
    {
      label: "$(gear) Settings",
      command: "workbench.action.openSettings",
      argument: "@ext:citewell.citewell",
    },
    { label: "$(mortar-board) Get started", command: "citewell.openWalkthrough" },
  );
  const chosen = await vscode.window.showQuickPick(items, { title: "Citewell" });
  if (chosen?.command) await execute(chosen.command, ...(chosen.argument ? [chosen.argument] : []));
}

function serverItems(engine: EngineStatus | undefined): Entry[] {
  const library = engine?.library
    ? `${libraryName(engine.library)}, ${engine.works.toLocaleString("en")} papers`
    : "none yet";
  const sources = engine?.sources?.length
    ? `on: ${engine.sources.join(", ")}`
    : "off: nothing leaves this machine";
  return [
    {
      label: "$(search) Find a paper and cite it",
      command: "citewell.findPaper",
    },
    { label: "$(telescope) Explore literature", command: "citewell.exploreLiterature" },
    { label: "$(list-unordered) References of this document", command: "citewell.showReferences" },
    { label: "$(wand) Fill the placeholders of this document", command: "citewell.fillDocument" },
    { label: "$(add) Add all missing entries", command: "citewell.addEntries" },
    { label: "$(tasklist) Review this paper", command: "citewell.reviewPaper" },
    { label: "$(checklist) Check the references again", command: "citewell.checkReferences" },
    { label: "Search in", kind: vscode.QuickPickItemKind.Separator },
    { label: "$(database) Library", description: library, command: "citewell.chooseLibrary" },
    { label: "$(cloud-download) Fetch papers for the library", command: "citewell.fetchPapers" },
    { label: "$(globe) Online sources", description: sources, command: "citewell.chooseSources" },
  ];
}

function installItems(): Entry[] {
  return [{ label: "$(cloud-download) Install the server", command: "citewell.installServer" }];
}

/** Shows why the server does not run, with buttons that fix it. */
export async function explain(state: ServerState, silence?: Silence): Promise<void> {
  const shown = notice(state);
  if (!shown || silence?.covers(state.kind)) return;
  const titles = shown.buttons.map(({ title }) => title);
  const chosen = await vscode.window.showWarningMessage(
    shown.text,
    ...titles,
    ...(silence ? [DONT_SHOW_AGAIN] : []),
  );
  if (chosen === DONT_SHOW_AGAIN) await silence?.add(state.kind);
  const button = shown.buttons.find(({ title }) => title === chosen);
  if (button) await execute(button.command, ...(button.argument ? [button.argument] : []));
}

interface Button {
  readonly title: string;
  readonly command: string;
  readonly argument?: string;
}

interface Notice {
  readonly text: string;
  readonly buttons: readonly Button[];
}

function notice(state: ServerState): Notice | undefined {
  const install: Button = { title: "Install Server", command: "citewell.installServer" };
  const restart: Button = { title: "Restart", command: "citewell.restart" };
  const output: Button = { title: "Show Output", command: "citewell.showOutput" };
  switch (state.kind) {
    case "missing":
      return {
        text: "The Citewell server was not found in the active Python environment, on the PATH, in uv or in pipx.",
        buttons: [install],
      };
    case "wrong-setting":
      return {
        text: `citewell.server.path names ${state.command}, which is not a program.`,
        buttons: [
          {
            title: "Open Setting",
            command: "workbench.action.openSettings",
            argument: "citewell.server.path",
          },
        ],
      };
    case "old": {
      const version = state.version ? `version ${state.version}` : "version unknown";
      return {
        text: `The Citewell server at ${state.server.command} (${version}) is older than ${MINIMUM}, which this extension needs.`,
        buttons: [{ ...install, title: "Install New Server" }],
      };
    }
    case "failed":
      // A program whose Python was removed exists but cannot run.
      if (/ENOENT|EACCES/.test(state.reason)) {
        return {
          text: `The Citewell server at ${state.server.command} cannot run. Its Python may have been removed.`,
          buttons: [install],
        };
      }
      return {
        text: state.ended
          ? `The Citewell server stopped several times and was not restarted.${state.reason && ` Its last message: ${state.reason}`}`
          : `The Citewell server at ${state.server.command} did not start: ${state.reason}`,
        buttons: [restart, output],
      };
    default:
      return undefined;
  }
}
