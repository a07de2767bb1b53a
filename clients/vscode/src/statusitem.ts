/** Keeps the status bar item in step with the server; asks for its state only when something changed. */

import * as vscode from "vscode";
import type { Connection } from "./client";
import { type EngineStatus, show } from "./status";

const SETTLE_MS = 700;

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("citewell", vscode.StatusBarAlignment.Right, 90);
  private readonly listeners: vscode.Disposable[] = [];
  private engine: EngineStatus | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly connection: Connection) {
    this.item.name = "Citewell";
    this.item.command = "citewell.showMenu";
    this.listeners.push(
      connection.onDidChangeState(() => this.refresh()),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("citewell")) this.later();
      }),
    );
    this.paint();
    this.item.show();
  }

  private readonly news = new vscode.EventEmitter<EngineStatus>();
  /** The engine has said how it is. */
  readonly onDidLearn = this.news.event;

  /** What the engine said last. */
  get status(): EngineStatus | undefined {
    return this.engine;
  }

  async refresh(): Promise<void> {
    if (this.connection.state.kind !== "running") this.engine = undefined;
    this.paint();
    if (this.connection.state.kind !== "running") return;
    try {
      this.engine = await this.connection.ask<EngineStatus>("citewell.status");
    } catch (error) {
      this.connection.log(`The state of the engine is not known: ${String(error)}`);
      this.engine = undefined;
    }
    if (this.engine) this.news.fire(this.engine);
    void vscode.commands.executeCommand("setContext", "citewell.library", Boolean(this.engine?.library));
    this.paint();
  }

  /** When the server has taken what was changed. */
  private later(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), SETTLE_MS);
  }

  private paint(): void {
    const shown = show(this.connection.state, this.engine);
    this.item.text = shown.text;
    this.item.tooltip = shown.tooltip;
    const colour = {
      plain: undefined,
      warning: "statusBarItem.warningBackground",
      error: "statusBarItem.errorBackground",
    }[shown.level];
    this.item.backgroundColor = colour ? new vscode.ThemeColor(colour) : undefined;
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.item.dispose();
    this.news.dispose();
    for (const listener of this.listeners) listener.dispose();
  }
}
