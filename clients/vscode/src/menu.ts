/** What a click on the status bar offers, and what is said when there is no server. */

import * as vscode from "vscode";
import type { Connection, ServerState } from "./client";
import { QUIET, type Silence } from "./silence";
import type { EngineStatus } from "./status";
import { libraryName } from "./status";
import { MINIMUM } from "./version";

interface Entry extends vscode.QuickPickItem {
  readonly command?: string;
  readonly argument?: unknown;
}

const execute = (id: string, ...rest: unknown[]) => vscode.commands.executeCommand(id, ...rest);

/** Shows the menu for the present state. */
export async function showMenu(connection: Connection, engine: EngineStatus | undefined): Promise<void> {
  const items = connection.state.kind === "running" ? ofServer(engine) : withoutServer();
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

function ofServer(engine: EngineStatus | undefined): Entry[] {
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
    { label: "$(list-unordered) References of this document", command: "citewell.showReferences" },
    { label: "$(wand) Fill the placeholders of this document", command: "citewell.fillDocument" },
    { label: "$(add) Add all missing entries", command: "citewell.addEntries" },
    { label: "$(checklist) Check the references again", command: "citewell.checkReferences" },
    { label: "Where is searched", kind: vscode.QuickPickItemKind.Separator },
    { label: "$(database) Library", description: library, command: "citewell.chooseLibrary" },
    { label: "$(globe) Online sources", description: sources, command: "citewell.chooseSources" },
  ];
}

function withoutServer(): Entry[] {
  return [{ label: "$(cloud-download) Install the server", command: "citewell.installServer" }];
}

/** Says what keeps the server from running, with the buttons that cure it. */
export async function explain(state: ServerState, silence?: Silence): Promise<void> {
  const said = words(state);
  if (!said || silence?.covers(state.kind)) return;
  const titles = said.buttons.map(({ title }) => title);
  const chosen = await vscode.window.showWarningMessage(said.text, ...titles, ...(silence ? [QUIET] : []));
  if (chosen === QUIET) await silence?.add(state.kind);
  const button = said.buttons.find(({ title }) => title === chosen);
  if (button) await execute(button.command, ...(button.argument ? [button.argument] : []));
}

interface Button {
  readonly title: string;
  readonly command: string;
  readonly argument?: string;
}

interface Said {
  readonly text: string;
  readonly buttons: readonly Button[];
}

function words(state: ServerState): Said | undefined {
  const install: Button = { title: "Install the Server", command: "citewell.installServer" };
  const restart: Button = { title: "Restart", command: "citewell.restart" };
  const output: Button = { title: "Show the Output", command: "citewell.showOutput" };
  switch (state.kind) {
    case "missing":
      return {
        text: "The Citewell server was not found: not in the active Python environment, on the PATH, with uv or with pipx.",
        buttons: [install],
      };
    case "wrong-setting":
      return {
        text: `citewell.server.path names ${state.command}, where there is no program.`,
        buttons: [
          {
            title: "Open the Setting",
            command: "workbench.action.openSettings",
            argument: "citewell.server.path",
          },
        ],
      };
    case "old": {
      const version = state.version ? `version ${state.version}` : "version unknown";
      return {
        text: `The Citewell server at ${state.server.command} (${version}) is older than ${MINIMUM}, which this extension needs.`,
        buttons: [{ ...install, title: "Install a New Server" }],
      };
    }
    case "failed":
      // A program whose Python was removed is there and cannot be run.
      if (/ENOENT|EACCES/.test(state.reason)) {
        return {
          text: `The Citewell server at ${state.server.command} cannot be run. Its Python may be gone.`,
          buttons: [install],
        };
      }
      return {
        text: state.ended
          ? `The Citewell server stopped several times and was not restarted.${state.reason && ` Its last message: ${state.reason}`}`
          : `The Citewell server at ${state.server.command} did not run: ${state.reason}`,
        buttons: [restart, output],
      };
    default:
      return undefined;
  }
}
