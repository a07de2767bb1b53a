/** Installs the server into an environment of the extension's own, from one button. */

import { readdir } from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Connection } from "./client";
import { onPath, programIn } from "./discovery";
import { hint, reason, requirement } from "./installwords";
import { isProgram, locate } from "./locate";
import { adopt, discard, newEnvironment } from "./managed";
import { run, runShown } from "./run";
import { compareVersions } from "./version";

export const MINIMUM_PYTHON = "3.11";
const PYTHONS = ["python3.13", "python3.12", "python3.11", "python3", "python", "py"];

interface Tool {
  readonly kind: "python" | "uv";
  readonly command: string;
}

/** Why there is no new server. */
type Failure = { readonly tail: string } | "cancelled";

/**
 * Makes another environment, and starts its server once it runs. Until then the server that runs, and the
 * environment that it runs from, are left alone.
 */
export async function installServer(
  context: vscode.ExtensionContext,
  connection: Connection,
  output: vscode.LogOutputChannel,
): Promise<void> {
  const wanted = await wantedPackage(context);
  if (!wanted) return explainWheel();
  const tool = await findTool();
  if (!tool) return explainPython();
  const storage = context.globalStorageUri.fsPath;
  const folder = await newEnvironment(storage, new Date());
  const failure = await install(tool, folder, wanted, output);
  if (failure) {
    await discard(folder);
    if (failure !== "cancelled") await explainFailure(failure.tail, connection.state.kind === "running");
    return;
  }
  await adopt(storage, folder);
  await prefer(context, programIn(folder, process.platform));
  await connection.restart();
}

/** The setting, else the wheel that came with the extension. */
async function wantedPackage(context: vscode.ExtensionContext): Promise<string | undefined> {
  const setting = vscode.workspace.getConfiguration("citewell.server").get("package", "");
  const folder = path.join(context.extensionPath, "wheel");
  const names = await readdir(folder).catch(() => []);
  const wheel = names.find((name) => name.endsWith(".whl"));
  return requirement(setting, wheel && path.join(folder, wheel));
}

/** A Python that is new enough, else uv, which can bring one. */
async function findTool(): Promise<Tool | undefined> {
  const around = { platform: process.platform, variables: process.env };
  for (const name of PYTHONS) {
    for (const command of onPath(around, name)) {
      if ((await isProgram(command)) && (await isNewEnough(command))) return { kind: "python", command };
    }
  }
  for (const command of onPath(around, "uv")) {
    if (await isProgram(command)) return { kind: "uv", command };
  }
  return undefined;
}

async function isNewEnough(python: string): Promise<boolean> {
  // Debian parts `venv` from Python: one without it is of no use here.
  const program = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])";
  const { code, tail } = await run(python, ["-c", program], () => undefined);
  return code === 0 && compareVersions(tail.trim(), MINIMUM_PYTHON) >= 0;
}

/** Undefined when all went well. */
async function install(
  tool: Tool,
  folder: string,
  wanted: string,
  output: vscode.LogOutputChannel,
): Promise<Failure | undefined> {
  const python = programIn(folder, process.platform, "python");
  const server = programIn(folder, process.platform);
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ...(tool.kind === "uv"
      ? ([
          [tool.command, ["venv", "--python", `>=${MINIMUM_PYTHON}`, folder]],
          [tool.command, ["pip", "install", "--python", python, wanted]],
        ] as const)
      : ([
          [tool.command, ["-m", "venv", folder]],
          [python, ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", wanted]],
        ] as const)),
    // What does not even say its version is no server to change to.
    [server, ["--version"]],
  ];
  for (const [command, args] of steps) {
    const { code, cancelled, tail } = await runShown(
      "Citewell: installing the server",
      command,
      args,
      output,
    );
    if (cancelled) return "cancelled";
    if (code !== 0) return { tail: tail || `${path.basename(command)} ended with an error.` };
  }
  return undefined;
}

/** Where another, older server would be found first, the setting names the new one. */
async function prefer(context: vscode.ExtensionContext, program: string): Promise<void> {
  const found = await locate(context);
  if (found.kind === "found" && found.server.command === program) return;
  const section = vscode.workspace.getConfiguration("citewell.server");
  await section.update("path", program, vscode.ConfigurationTarget.Global);
}

async function explainPython(): Promise<void> {
  const open = "Get Python";
  const text = `The Citewell server needs Python ${MINIMUM_PYTHON} or newer (with venv), or uv; neither was found on the PATH.`;
  if ((await vscode.window.showErrorMessage(text, open)) === open) {
    await vscode.env.openExternal(vscode.Uri.parse("https://www.python.org/downloads/"));
  }
}

async function explainWheel(): Promise<void> {
  const open = "Open the Setting";
  const text =
    "This build of the extension brings no server: name your clone of Citewell in citewell.server.package, as in /path/to/citewell[starter,online].";
  if ((await vscode.window.showErrorMessage(text, open)) === open) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "citewell.server.package");
  }
}

async function explainFailure(tail: string, runs: boolean): Promise<void> {
  const again = "Try Again";
  const show = "Show the Output";
  const kept = runs ? " The server that runs goes on." : "";
  const text = `The Citewell server was not installed (${reason(tail)}). ${hint(tail)}${kept}`;
  const chosen = await vscode.window.showErrorMessage(text, again, show);
  if (chosen === again) await vscode.commands.executeCommand("citewell.installServer");
  if (chosen === show) await vscode.commands.executeCommand("citewell.showOutput");
}
