/** The side panel: the references of the active document, with their states and fixes. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Connection } from "./client";
import { isServed } from "./languages";
import {
  type Location,
  listItems,
  page,
  type Reference,
  type ReferenceList,
  stateButtons,
  summary,
} from "./panelhtml";

const DEBOUNCE_MS = 600;

/** A click, as reported by the page. */
interface Click {
  readonly type: "ready" | "go" | "fix";
  readonly index?: number;
  readonly go?: "entry" | "cited" | "quickfix";
  readonly place?: number;
  readonly fix?: number;
}

export class Panel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private list: ReferenceList | undefined;
  private uri: vscode.Uri | undefined;
  private timer: NodeJS.Timeout | undefined;
  private requests = 0;
  private readonly listeners: vscode.Disposable[];

  constructor(
    private readonly connection: Connection,
    private readonly media: vscode.Uri,
  ) {
    this.listeners = [
      vscode.window.registerWebviewViewProvider("citewell.references", this),
      vscode.window.onDidChangeActiveTextEditor(() => this.scheduleRefresh(50)),
      vscode.workspace.onDidChangeTextDocument(
        ({ document }) => isServed(document) && this.scheduleRefresh(DEBOUNCE_MS),
      ),
      vscode.workspace.onDidCloseTextDocument(
        ({ uri }) => uri.toString() === this.uri?.toString() && this.scheduleRefresh(50),
      ),
      connection.onDidChangeReferences(() => this.scheduleRefresh(50)),
      connection.onDidChangeState(() => this.scheduleRefresh(50)),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    const { webview } = view;
    webview.options = { enableScripts: true, localResourceRoots: [this.media] };
    const address = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(this.media, name)).toString();
    webview.onDidReceiveMessage((click: Click) => this.onClick(click));
    view.onDidChangeVisibility(() => this.scheduleRefresh(0));
    view.onDidDispose(() => {
      this.view = undefined;
    });
    webview.html = page(
      webview.cspSource,
      randomBytes(16).toString("base64url"),
      address("panel.js"),
      address("panel.css"),
    );
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const listener of this.listeners) listener.dispose();
  }

  /** Refreshes after `wait` milliseconds, if the panel is visible. */
  private scheduleRefresh(wait: number): void {
    clearTimeout(this.timer);
    if (this.view?.visible) this.timer = setTimeout(() => void this.refresh(), wait);
  }

  private async refresh(): Promise<void> {
    const document = this.document();
    this.uri = document?.uri;
    const number = ++this.requests;
    let message = "";
    let list: ReferenceList | undefined;
    if (document && this.connection.state.kind === "running") {
      try {
        const answer = await this.connection.execute<ReferenceList | null>(
          "citewell.documentReferences",
          document.uri.toString(),
        );
        list = answer ?? undefined;
      } catch (error) {
        message = `The references could not be read: ${String(error)}`;
      }
    } else if (document) {
      message = "The Citewell server is not running.";
    }
    // Drop the response to an outdated request.
    if (number !== this.requests) return;
    this.list = list;
    this.show(message);
  }

  /** The active document, or the last one while something else has the focus. */
  private document(): vscode.TextDocument | undefined {
    const active = vscode.window.activeTextEditor?.document;
    if (active && isServed(active)) return active;
    const shown = vscode.window.visibleTextEditors.map((editor) => editor.document).filter(isServed);
    return shown.find((document) => document.uri.toString() === this.uri?.toString()) ?? shown[0];
  }

  private show(message: string): void {
    if (!this.view) return;
    this.view.description = this.uri ? vscode.workspace.asRelativePath(this.uri) : "";
    void this.view.webview.postMessage({
      type: "show",
      list: listItems(this.list),
      states: stateButtons(this.list?.references ?? []),
      summary: summary(this.list, message),
    });
  }

  private async onClick(click: Click): Promise<void> {
    if (click.type === "ready") return this.refresh();
    const one = this.list?.references[click.index ?? -1];
    if (!one) return;
    if (click.type === "fix") return this.fix(one, click.fix ?? -1);
    const place = click.go === "entry" ? one.defined : one.cited[click.place ?? 0];
    if (!place) return;
    await reveal(place);
    if (click.go === "quickfix") await vscode.commands.executeCommand("editor.action.quickFix");
  }

  private async fix(one: Reference, number: number): Promise<void> {
    const fix = one.fixes[number];
    if (!fix) return;
    // The server plans the edit on the editor's text, so the document must be open.
    await vscode.workspace.openTextDocument(vscode.Uri.parse(fix.act.uri));
    await this.connection.execute<{ applied: boolean }>("citewell.act", fix.act);
    this.scheduleRefresh(0);
  }
}

async function reveal(place: Location): Promise<void> {
  const { start, end } = place.range;
  const selection = new vscode.Range(start.line, start.character, end.line, end.character);
  await vscode.window.showTextDocument(vscode.Uri.parse(place.uri), {
    selection,
    preview: false,
  });
}
