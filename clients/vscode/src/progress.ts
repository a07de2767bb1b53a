/**
 * The progress of commands that the author started, as notifications with a cancel button. The language
 * client shows a server's progress in the status bar, where it cannot be cancelled.
 */

import * as vscode from "vscode";

export type Token = string | number;

/** One notification of the server about a progress (LSP `WorkDoneProgress`). */
export interface Step {
  readonly kind: "begin" | "report" | "end";
  readonly title?: string;
  readonly message?: string;
  readonly percentage?: number;
}

interface Shown {
  readonly progress: vscode.Progress<{ message?: string; increment?: number }>;
  readonly close: () => void;
  percentage: number;
}

export class CommandProgress {
  private commands = 0;
  private readonly shown = new Map<Token, Shown>();

  /** While the command runs, the server's progress is shown as notifications. */
  async during<T>(command: () => Promise<T>): Promise<T> {
    this.commands += 1;
    try {
      return await command();
    } finally {
      this.commands -= 1;
    }
  }

  /** Shows a step; false if the progress is not that of such a command. `cancel` ends it on the server. */
  show(token: Token, step: Step, cancel: () => void): boolean {
    if (step.kind === "begin") {
      if (this.commands === 0) return false;
      this.begin(token, step, cancel);
      return true;
    }
    const shown = this.shown.get(token);
    if (!shown) return false;
    if (step.kind === "end") {
      this.shown.delete(token);
      shown.close();
    } else report(shown, step);
    return true;
  }

  /** Closes all notifications, when the server has ended. */
  clear(): void {
    for (const shown of this.shown.values()) shown.close();
    this.shown.clear();
  }

  private begin(token: Token, step: Step, cancel: () => void): void {
    const location = vscode.ProgressLocation.Notification;
    const title = step.title ?? "Citewell";
    void vscode.window.withProgress({ location, title, cancellable: true }, (progress, cancelled) => {
      cancelled.onCancellationRequested(cancel);
      return new Promise<void>((close) => {
        const shown = { progress, close, percentage: 0 };
        this.shown.set(token, shown);
        report(shown, step);
      });
    });
  }
}

function report(shown: Shown, step: Step): void {
  const percentage = Math.max(shown.percentage, Math.min(step.percentage ?? 0, 100));
  const increment = percentage - shown.percentage;
  shown.percentage = percentage;
  shown.progress.report({ ...(step.message ? { message: step.message } : {}), increment });
}
