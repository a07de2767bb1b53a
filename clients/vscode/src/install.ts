/** Installs the server into an environment of the extension's own, from one button. */

import { rm } from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Connection } from "./client";
import { onPath, programIn } from "./discovery";
import { isProgram, locate, managedFolder } from "./locate";
import { run, runShown } from "./run";
import { compareVersions } from "./version";

export const MINIMUM_PYTHON = "3.11";
const PYTHONS = ["python3.13", "python3.12", "python3.11", "python3", "python", "py"];

interface Tool {
  readonly kind: "python" | "uv";
  readonly command: string;
}

/** Makes the environment, installs into it, and starts the server that is in it. */
export async function installServer(
  context: vscode.ExtensionContext,
  connection: Connection,
  output: vscode.LogOutputChannel,
): Promise<void> {
  const folder = managedFolder(context);
  const tool = await findTool();
  if (!tool) return explainPython();
  await connection.stop();
  const failed = await install(tool, folder, output);
  if (failed !== undefined) {
    if (failed) await explainFailure(failed);
    await connection.restart();
    return;
  }
  await prefer(context, programIn(folder, process.platform));
  await connection.restart();
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

/** Undefined when all went well; else why not, empty when the author ended it. */
async function install(
  tool: Tool,
  folder: string,
  output: vscode.LogOutputChannel,
): Promise<string | undefined> {
  const wanted = vscode.workspace
    .getConfiguration("citewell.server")
    .get("package", "citewell[starter,online]");
  const python = programIn(folder, process.platform, "python");
  const steps: readonly (readonly [string, readonly string[]])[] =
    tool.kind === "uv"
      ? [
          [tool.command, ["venv", "--clear", "--python", `>=${MINIMUM_PYTHON}`, folder]],
          [tool.command, ["pip", "install", "--upgrade", "--python", python, wanted]],
        ]
      : [
          [tool.command, ["-m", "venv", "--clear", folder]],
          [python, ["-m", "pip", "install", "--upgrade", "--disable-pip-version-check", wanted]],
        ];
  for (const [command, args] of steps) {
    const { code, cancelled, tail } = await runShown(
      "Citewell: installing the server",
      command,
      args,
      output,
    );
    if (cancelled || code !== 0) {
      // Half an environment must not be taken for a server.
      await rm(folder, { recursive: true, force: true });
      return cancelled ? "" : tail.split("\n").at(-1) || `${path.basename(command)} ended with an error.`;
    }
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

async function explainFailure(reason: string): Promise<void> {
  const show = "Show the Output";
  const text = `The Citewell server was not installed: ${reason}`;
  if ((await vscode.window.showErrorMessage(text, show)) === show) {
    await vscode.commands.executeCommand("citewell.showOutput");
  }
}
