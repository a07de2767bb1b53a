/** Runs a program with its progress shown, its words in the output, and a button that ends it. */

import { spawn } from "node:child_process";
import * as os from "node:os";
import * as vscode from "vscode";

export interface Outcome {
  /** The exit code; undefined when the program could not be started, or was ended. */
  readonly code: number | undefined;
  readonly cancelled: boolean;
  /** The last lines that it wrote. */
  readonly tail: string;
}

const TAIL = 12;

/** What Python programs need to run alike everywhere, and to import nothing that lies around. */
export function pythonEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, PYTHONSAFEPATH: "1", PYTHONUTF8: "1", PYTHONUNBUFFERED: "1" };
}

/** Run to the end; `report` gets each line and whether it was written to the error stream. Reads nothing from the author. */
export function run(
  command: string,
  args: readonly string[],
  report: (line: string, isError: boolean) => void,
  token?: vscode.CancellationToken,
): Promise<Outcome> {
  return new Promise((done) => {
    const lines: string[] = [];
    const child = spawn(command, args, {
      cwd: os.homedir(),
      env: pythonEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
    });
    const listener = token?.onCancellationRequested(() => child.kill());
    const end = (code: number | undefined) => {
      listener?.dispose();
      done({ code, cancelled: token?.isCancellationRequested ?? false, tail: lines.join("\n") });
    };
    for (const stream of [child.stdout, child.stderr]) {
      let rest = "";
      stream.setEncoding("utf8").on("data", (text: string) => {
        // A progress bar writes over its line with a bare return.
        const parts = (rest + text).split(/[\r\n]+/);
        rest = parts.pop() ?? "";
        for (const line of parts.map((part) => part.trim()).filter(Boolean)) {
          lines.push(line);
          if (lines.length > TAIL) lines.shift();
          report(line, stream === child.stderr);
        }
      });
    }
    child.on("error", (error) => {
      lines.push(error.message);
      end(undefined);
    });
    child.on("close", (code) => end(code ?? undefined));
  });
}

/** The same under a title, in a notification that can be cancelled. */
export async function runShown(
  title: string,
  command: string,
  args: readonly string[],
  output: vscode.LogOutputChannel,
): Promise<Outcome> {
  output.info([command, ...args].join(" "));
  const outcome = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title, cancellable: true },
    (progress, token) =>
      run(
        command,
        args,
        (line) => {
          output.info(line);
          progress.report({ message: line.slice(0, 120) });
        },
        token,
      ),
  );
  if (!outcome.cancelled && outcome.code !== 0)
    output.error(`${title}: ended with ${outcome.code ?? "an error"}`);
  return outcome;
}
