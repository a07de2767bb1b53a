/** What a click on the status bar offers, and what is said when there is no server. */

import * as vscode from "vscode";
import type { Connection, ServerState } from "./client";
import { MINIMUM } from "./version";

interface Entry extends vscode.QuickPickItem {
  readonly run?: () => unknown;
}

const command = (id: string, ...rest: unknown[]) => vscode.commands.executeCommand(id, ...rest);

/** Shows the menu for the present state. */
export async function showMenu(connection: Connection): Promise<void> {
  const running = connection.state.kind === "running";
  const items: Entry[] = [];
  if (!running) {
    items.push({
      label: "$(cloud-download) Install the server",
      run: () => command("citewell.installServer"),
    });
  }
  items.push(
    { label: "$(refresh) Restart the server", run: () => command("citewell.restart") },
    { label: "$(output) Show the output", run: () => command("citewell.showOutput") },
    {
      label: "$(gear) Settings",
      run: () => command("workbench.action.openSettings", "@ext:citewell.citewell"),
    },
  );
  const chosen = await vscode.window.showQuickPick(items, { title: "Citewell" });
  await chosen?.run?.();
}

/** Says once what keeps the server from running, with the one button that cures it. */
export async function explain(state: ServerState): Promise<void> {
  if (state.kind === "missing") {
    const install = "Install the Server";
    const text =
      "The Citewell server was not found: not in the active Python environment, on the PATH, with uv or with pipx.";
    if ((await vscode.window.showWarningMessage(text, install)) === install) {
      await command("citewell.installServer");
    }
  } else if (state.kind === "wrong-setting") {
    const open = "Open the Setting";
    const text = `citewell.server.path names ${state.command}, where there is no program.`;
    if ((await vscode.window.showErrorMessage(text, open)) === open) {
      await command("workbench.action.openSettings", "citewell.server.path");
    }
  } else if (state.kind === "old") {
    const update = "Install a New Server";
    const version = state.version ? `version ${state.version}` : "says no version";
    const text = `The Citewell server at ${state.server.command} (${version}) is older than ${MINIMUM}, which this extension needs.`;
    if ((await vscode.window.showWarningMessage(text, update)) === update) {
      await command("citewell.installServer");
    }
  } else if (state.kind === "failed") {
    const show = "Show the Output";
    const text = `The Citewell server (${state.server.command}) did not run: ${state.reason}`;
    if ((await vscode.window.showErrorMessage(text, show)) === show) await command("citewell.showOutput");
  }
}
