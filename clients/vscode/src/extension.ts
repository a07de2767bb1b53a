/** Composes the extension: the connection, and one module for each thing that an author sees. */

import * as vscode from "vscode";
import { Connection, type ServerState } from "./client";
import { findPaper, Preview } from "./findpaper";
import { installServer } from "./install";
import { chooseLibrary, offerLibrary } from "./libraries";
import { onPythonChange } from "./locate";
import { explain, showMenu } from "./menu";
import { Panel } from "./panel";
import { openSample } from "./sample";
import { StatusItem } from "./statusitem";
import { suggestInProse } from "./typing";

let connection: Connection | undefined;

/** Returns at once: the editor goes on while the server starts. */
export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel("Citewell", { log: true });
  const server = new Connection(context, output);
  connection = server;
  const status = new StatusItem(server);
  context.subscriptions.push(
    output,
    server,
    status,
    new Panel(server, vscode.Uri.joinPath(context.extensionUri, "media")),
    suggestInProse(),
    server.onDidChangeState((state) => void follow(state)),
    status.onDidLearn(({ library }) => library || void offerLibrary(context.globalState)),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("citewell.server.path")) void server.restart();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => server.reconsider()),
  );
  const page = Preview.register(context);
  const commands: Record<string, () => unknown> = {
    findPaper: () => withServer(() => findPaper(server, page)),
    showReferences: () => vscode.commands.executeCommand("citewell.references.focus"),
    checkReferences: () => withServer(() => server.ask("citewell.check")),
    checkReferencesOnline: () => withServer(() => checkOnline(server)),
    chooseSources: () => withServer(() => chooseSources(server, status)),
    chooseLibrary: () => withServer(() => chooseLibrary(server, output)),
    openSample: () => openSample(context),
    openWalkthrough: () =>
      vscode.commands.executeCommand(
        "workbench.action.openWalkthrough",
        `${context.extension.id}#start`,
        false,
      ),
    installServer: () => installServer(context, server, output),
    restart: () => server.restart(),
    showOutput: () => output.show(),
    showMenu: () => showMenu(server, status.status),
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`citewell.${name}`, run));
  }
  void server.restart();
  void onPythonChange(() => server.reconsider()).then(
    (listener) => listener && context.subscriptions.push(listener),
  );
}

export async function deactivate(): Promise<void> {
  await connection?.stop();
}

async function follow(state: ServerState): Promise<void> {
  await vscode.commands.executeCommand("setContext", "citewell.running", state.kind === "running");
  await explain(state);
}

/** Runs what needs the server; without one it is said why there is none. */
async function withServer(run: () => unknown): Promise<void> {
  if (!connection) return;
  if (connection.state.kind === "starting") await connection.settled();
  if (connection.state.kind === "running") await run();
  else await explain(connection.state);
}

async function checkOnline(server: Connection): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document) await server.ask("citewell.checkOnline", document.uri.toString());
}

async function chooseSources(server: Connection, status: StatusItem): Promise<void> {
  if (status.status?.sources?.length) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "citewell.sources");
    return;
  }
  await server.ask("citewell.allowSources");
  await status.refresh();
}
