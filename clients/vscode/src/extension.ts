/** Composes the extension: the connection, and one module for each thing that an author sees. */

import * as vscode from "vscode";
import { Connection } from "./client";
import { onPythonChange } from "./locate";
import { explain, showMenu } from "./menu";
import { StatusItem } from "./statusitem";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("Citewell", { log: true });
  const connection = new Connection(context, output);
  const on = (command: string, run: (...args: never[]) => unknown) =>
    context.subscriptions.push(vscode.commands.registerCommand(command, run));

  context.subscriptions.push(output, connection, new StatusItem(connection));
  on("citewell.restart", () => connection.restart());
  on("citewell.showOutput", () => output.show());
  on("citewell.showMenu", () => showMenu(connection));
  context.subscriptions.push(connection.onDidChangeState((state) => void explain(state)));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("citewell.server.path")) void connection.restart();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => connection.reconsider()),
  );
  // The editor goes on while the server starts.
  void connection.restart();
  void onPythonChange(() => connection.reconsider()).then(
    (listener) => listener && context.subscriptions.push(listener),
  );
}
