/** Composes the extension: the connection, and one module per visible part. */

import * as vscode from "vscode";
import { offerToAgents } from "./agents";
import { Connection, type ServerState } from "./client";
import { exploreLiterature, judgeActivePaper, searchAgain } from "./explore";
import { fetchLiterature, fetchPapers } from "./fetchpapers";
import { findPaper, Preview } from "./findpaper";
import { installServer } from "./install";
import { isServed } from "./languages";
import { chooseLibrary, offerLibrary } from "./libraries";
import { onPythonChange } from "./locate";
import { sweep } from "./managed";
import { explain, showMenu } from "./menu";
import { Panel } from "./panel";
import type { ProblemParams } from "./protocol";
import { type Line, ReviewView } from "./review";
import { openSample } from "./sample";
import { DONT_SHOW_AGAIN, Silence } from "./silence";
import { StatusItem } from "./statusitem";
import { suggestInProse } from "./typing";

let connection: Connection | undefined;

/** Activates the extension without waiting for the server. */
export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel("Citewell", { log: true });
  const silence = new Silence(context.globalState);
  const server = new Connection(context, output, (problem) => void showProblem(problem, silence));
  connection = server;
  const status = new StatusItem(server);
  const review = new ReviewView(server);
  context.subscriptions.push(
    output,
    server,
    status,
    review,
    new Panel(server, vscode.Uri.joinPath(context.extensionUri, "media")),
    suggestInProse(),
    offerToAgents(context),
    server.onDidChangeState((state) => void showState(state, silence)),
    status.onDidChangeStatus(({ library }) => library || void offerLibrary(context.globalState)),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("citewell.server.path")) void server.restart();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => server.reconsider()),
  );
  const page = Preview.register(context);
  const commands: Record<string, (line?: Line) => unknown> = {
    findPaper: () => withServer(() => findPaper(server, page)),
    findPapers: () => withServer(() => findPaper(server, page, true)),
    exploreLiterature: () => withServer(() => exploreLiterature(server, page)),
    keepPaper: () => judgeActivePaper("kept"),
    rejectPaper: () => judgeActivePaper("rejected"),
    searchAgain,
    fillDocument: () => withServer(() => onDocument(server, "citewell.fillPlaceholders")),
    addEntries: () => withServer(() => onDocument(server, "citewell.addMissingEntries")),
    showReferences: () => vscode.commands.executeCommand("citewell.references.focus"),
    reviewPaper: () => withServer(() => review.review(vscode.window.activeTextEditor?.document)),
    reviewAgain: () => withServer(() => review.again()),
    reviewCite: (line) => withServer(() => review.act(line, "cite")),
    reviewFix: (line) => withServer(() => review.fix(line)),
    reviewSilence: (line) => withServer(() => review.act(line, "silence")),
    checkReferences: () => withServer(() => server.execute("citewell.check")),
    checkReferencesOnline: () => withServer(() => onDocument(server, "citewell.checkOnline")),
    chooseSources: () => withServer(() => chooseSources(server, status)),
    fetchPapers: () => withServer(() => fetchPapers(server).then(() => status.refresh())),
    fetchLiterature: () => withServer(() => fetchLiterature(server).then(() => status.refresh())),
    chooseLibrary: () => withServer(() => chooseLibrary(server, output)),
    openSample: () => openSample(context),
    openWalkthrough: () => openWalkthrough(`${context.extension.id}#start`),
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

async function showState(state: ServerState, silence: Silence): Promise<void> {
  await vscode.commands.executeCommand("setContext", "citewell.running", state.kind === "running");
  await explain(state, silence);
}

/** Shows a problem of the server; unsolicited ones can be silenced. */
async function showProblem({ code, message, asked }: ProblemParams, silence: Silence): Promise<void> {
  if (asked) void vscode.window.showWarningMessage(message);
  else if (!silence.covers(code)) {
    if ((await vscode.window.showWarningMessage(message, DONT_SHOW_AGAIN)) === DONT_SHOW_AGAIN)
      await silence.add(code);
  }
}

/** Runs a command that needs the server, or shows why there is none. */
async function withServer(run: () => unknown): Promise<void> {
  if (!connection) return;
  if (connection.state.kind === "starting") await connection.settled();
  if (connection.state.kind === "running") await run();
  else await explain(connection.state);
}

/** Opens a walkthrough. Where an editor group shows a step of another one, the editor ignores the request. */
async function openWalkthrough(id: string): Promise<void> {
  for (const _ of vscode.window.tabGroups.all) {
    await vscode.commands.executeCommand("welcome.goBack");
    await vscode.commands.executeCommand("workbench.action.focusNextGroup");
  }
  await vscode.commands.executeCommand("workbench.action.openWalkthrough", id, false);
}

/** Runs a server command on the active document. */
async function onDocument(server: Connection, command: string): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document && isServed(document)) await server.execute(command, document.uri.toString());
  else await vscode.window.showWarningMessage("Open a LaTeX, Markdown or .bib file first.");
}

async function chooseSources(server: Connection, status: StatusItem): Promise<void> {
  if (status.status?.sources?.length) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "citewell.sources");
    return;
  }
  await server.execute("citewell.allowSources");
  await status.refresh();
}
