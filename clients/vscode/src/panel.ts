/** The side panel: the references of the document that is looked at, with their states and fixes. */

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

const QUIET_MS = 600;

/** What the page says was clicked. */
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
  private asked = 0;
  private readonly listeners: vscode.Disposable[];

  constructor(
    private readonly connection: Connection,
    private readonly media: vscode.Uri,
  ) {
    this.listeners = [
      vscode.window.registerWebviewViewProvider("citewell.references", this),
      vscode.window.onDidChangeActiveTextEditor(() => this.soon(50)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => isServed(document) && this.soon(QUIET_MS)),
      vscode.workspace.onDidCloseTextDocument(
        ({ uri }) => uri.toString() === this.uri?.toString() && this.soon(50),
      ),
      connection.onDidChangeReferences(() => this.soon(50)),
      connection.onDidChangeState(() => this.soon(50)),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    const { webview } = view;
    webview.options = { enableScripts: true, localResourceRoots: [this.media] };
    const address = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(this.media, name)).toString();
    webview.onDidReceiveMessage((click: Click) => this.clicked(click));
    view.onDidChangeVisibility(() => this.soon(0));
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

  /** Nothing is asked while the panel is not seen. */
  private soon(wait: number): void {
    clearTimeout(this.timer);
    if (this.view?.visible) this.timer = setTimeout(() => void this.refresh(), wait);
  }

  private async refresh(): Promise<void> {
    const document = this.document();
    this.uri = document?.uri;
    const number = ++this.asked;
    let why = "";
    let list: ReferenceList | undefined;
    if (document && this.connection.state.kind === "running") {
      try {
        const answer = await this.connection.ask<ReferenceList | null>(
          "citewell.documentReferences",
          document.uri.toString(),
        );
        list = answer ?? undefined;
      } catch (error) {
        why = `The references could not be read: ${String(error)}`;
      }
    } else if (document) {
      why = "The Citewell server is not running.";
    }
    // An answer that was overtaken by a newer question is of no use.
    if (number !== this.asked) return;
    this.list = list;
    this.show(why);
  }

  /** The document that is looked at, or was, while something else has the focus. */
  private document(): vscode.TextDocument | undefined {
    const active = vscode.window.activeTextEditor?.document;
    if (active && isServed(active)) return active;
    const shown = vscode.window.visibleTextEditors.map((editor) => editor.document).filter(isServed);
    return shown.find((document) => document.uri.toString() === this.uri?.toString()) ?? shown[0];
  }

  private show(why: string): void {
    if (!this.view) return;
    this.view.description = this.uri ? vscode.workspace.asRelativePath(this.uri) : "";
    void this.view.webview.postMessage({
      type: "show",
      list: listItems(this.list),
      states: stateButtons(this.list?.references ?? []),
      summary: summary(this.list, why),
    });
  }

  private async clicked(click: Click): Promise<void> {
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
    // The server plans the edit on the text that the editor holds.
    await vscode.workspace.openTextDocument(vscode.Uri.parse(fix.act.uri));
    await this.connection.ask<{ applied: boolean }>("citewell.act", fix.act);
    this.soon(0);
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
