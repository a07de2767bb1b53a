/** Runs a program with progress, output and cancellation. */

import { spawn } from "node:child_process";
import * as os from "node:os";
import * as vscode from "vscode";

export interface Outcome {
  /** The exit code; undefined if the program could not be started or was killed. */
  readonly code: number | undefined;
  readonly cancelled: boolean;
  /** The last lines of its output. */
  readonly tail: string;
}

const TAIL = 12;

/** Environment variables for Python: UTF-8, unbuffered, no imports from the working directory. */
export function pythonEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, PYTHONSAFEPATH: "1", PYTHONUTF8: "1", PYTHONUNBUFFERED: "1" };
}

/** Runs a program without stdin; `report` receives each line and whether it came from stderr. */
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
        // A progress bar overwrites its line with a carriage return.
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

/** Runs a program under a cancellable notification, its lines in the output. */
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
    output.error(`${title}: exit code ${outcome.code ?? "unknown"}`);
  return outcome;
}
