/** Composes the extension: the connection, and one module for each thing that an author sees. */

import * as vscode from "vscode";
import { Connection, type ServerState } from "./client";
import { findPaper, Preview } from "./findpaper";
import { installServer } from "./install";
import { isServed } from "./languages";
import { chooseLibrary, offerLibrary } from "./libraries";
import { onPythonChange } from "./locate";
import { sweep } from "./managed";
import { explain, showMenu } from "./menu";
import { Panel } from "./panel";
import type { Told } from "./protocol";
import { openSample } from "./sample";
import { QUIET, Silence } from "./silence";
import { StatusItem } from "./statusitem";
import { suggestInProse } from "./typing";

let connection: Connection | undefined;

/** Returns at once: the editor goes on while the server starts. */
export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel("Citewell", { log: true });
  const silence = new Silence(context.globalState);
  const server = new Connection(context, output, (told) => void tell(told, silence));
  connection = server;
  const status = new StatusItem(server);
  context.subscriptions.push(
    output,
    server,
    status,
    new Panel(server, vscode.Uri.joinPath(context.extensionUri, "media")),
    suggestInProse(),
    server.onDidChangeState((state) => void follow(state, silence)),
    status.onDidLearn(({ library }) => library || void offerLibrary(context.globalState)),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("citewell.server.path")) void server.restart();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => server.reconsider()),
  );
  const page = Preview.register(context);
  const commands: Record<string, () => unknown> = {
    findPaper: () => withServer(() => findPaper(server, page)),
    findPapers: () => withServer(() => findPaper(server, page, true)),
    fillDocument: () => withServer(() => ofDocument(server, "citewell.fillPlaceholders")),
    addEntries: () => withServer(() => ofDocument(server, "citewell.addMissingEntries")),
    showReferences: () => vscode.commands.executeCommand("citewell.references.focus"),
    checkReferences: () => withServer(() => server.ask("citewell.check")),
    checkReferencesOnline: () => withServer(() => ofDocument(server, "citewell.checkOnline")),
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
    showMessagesAgain: () => silence.end(),
    showMenu: () => showMenu(server, status.status),
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`citewell.${name}`, run));
  }
  void server.restart();
  void sweep(context.globalStorageUri.fsPath, Date.now());
  void onPythonChange(() => server.reconsider()).then(
    (listener) => listener && context.subscriptions.push(listener),
  );
}

export async function deactivate(): Promise<void> {
  await connection?.stop();
}

async function follow(state: ServerState, silence: Silence): Promise<void> {
  await vscode.commands.executeCommand("setContext", "citewell.running", state.kind === "running");
  await explain(state, silence);
}

/** Shows what the server tells of; what comes by itself can be silenced. */
async function tell({ code, message, asked }: Told, silence: Silence): Promise<void> {
  if (asked) void vscode.window.showWarningMessage(message);
  else if (!silence.covers(code)) {
    if ((await vscode.window.showWarningMessage(message, QUIET)) === QUIET) await silence.add(code);
  }
}

/** Runs what needs the server; without one it is said why there is none. */
async function withServer(run: () => unknown): Promise<void> {
  if (!connection) return;
  if (connection.state.kind === "starting") await connection.settled();
  if (connection.state.kind === "running") await run();
  else await explain(connection.state);
}

/** A command of the server about the document that is looked at. */
async function ofDocument(server: Connection, command: string): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document && isServed(document)) await server.ask(command, document.uri.toString());
  else await vscode.window.showWarningMessage("Open a LaTeX, Markdown or .bib file first.");
}

async function chooseSources(server: Connection, status: StatusItem): Promise<void> {
  if (status.status?.sources?.length) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "citewell.sources");
    return;
  }
  await server.ask("citewell.allowSources");
  await status.refresh();
}
