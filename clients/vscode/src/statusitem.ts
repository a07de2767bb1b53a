/** Keeps the status bar item up to date; queries the server only after a change. */

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
        if (change.affectsConfiguration("citewell")) this.scheduleRefresh();
      }),
    );
    this.render();
    this.item.show();
  }

  private readonly statusChanged = new vscode.EventEmitter<EngineStatus>();
  /** The engine's status was received. */
  readonly onDidChangeStatus = this.statusChanged.event;

  /** The last status of the engine. */
  get status(): EngineStatus | undefined {
    return this.engine;
  }

  async refresh(): Promise<void> {
    if (this.connection.state.kind !== "running") this.engine = undefined;
    this.render();
    if (this.connection.state.kind !== "running") return;
    try {
      this.engine = await this.connection.execute<EngineStatus>("citewell.status");
    } catch (error) {
      this.connection.log(`The status of the engine is unknown: ${String(error)}`);
      this.engine = undefined;
    }
    if (this.engine) this.statusChanged.fire(this.engine);
    void vscode.commands.executeCommand("setContext", "citewell.library", Boolean(this.engine?.library));
    this.render();
  }

  /** Refreshes once the server has processed the change. */
  private scheduleRefresh(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), SETTLE_MS);
  }

  private render(): void {
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
    this.statusChanged.dispose();
    for (const listener of this.listeners) listener.dispose();
  }
}
