/** Installs the server into an environment owned by the extension. */

import { readdir } from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Connection } from "./client";
import { onPath, programIn } from "./discovery";
import { hint, reason, requirements } from "./installmessages";
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

/** Why the installation did not complete. */
type Failure = { readonly tail: string } | "cancelled";

/**
 * Creates a new environment and switches to its server once it works. Until then the running server and
 * its environment are unchanged.
 */
export async function installServer(
  context: vscode.ExtensionContext,
  connection: Connection,
  output: vscode.LogOutputChannel,
): Promise<void> {
  const wanted = await wantedPackages(context);
  if (wanted.length === 0) return explainWheel();
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

/** The requirements to install: the setting, else the bundled wheels; none if there is neither. */
async function wantedPackages(context: vscode.ExtensionContext): Promise<string[]> {
  const setting = vscode.workspace.getConfiguration("citewell.server").get("package", "");
  const folder = path.join(context.extensionPath, "wheel");
  const names = await readdir(folder).catch(() => []);
  const wheels = names.filter((name) => name.endsWith(".whl"));
  return requirements(
    setting,
    wheels.map((wheel) => path.join(folder, wheel)),
  );
}

/** A Python that is new enough, else uv, which can install one. */
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
  // Debian packages `venv` separately; a Python without it cannot be used.
  const program = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])";
  const { code, tail } = await run(python, ["-c", program], () => undefined);
  return code === 0 && compareVersions(tail.trim(), MINIMUM_PYTHON) >= 0;
}

/** Runs the installation; undefined on success. */
async function install(
  tool: Tool,
  folder: string,
  wanted: readonly string[],
  output: vscode.LogOutputChannel,
): Promise<Failure | undefined> {
  const python = programIn(folder, process.platform, "python");
  const server = programIn(folder, process.platform);
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ...(tool.kind === "uv"
      ? ([
          [tool.command, ["venv", "--python", `>=${MINIMUM_PYTHON}`, folder]],
          [tool.command, ["pip", "install", "--python", python, ...wanted]],
        ] as const)
      : ([
          [tool.command, ["-m", "venv", folder]],
          [python, ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", ...wanted]],
        ] as const)),
    // Check that the new server runs before switching to it.
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

/** Points `citewell.server.path` to the new server if discovery would find another one first. */
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
  const open = "Open Setting";
  const text =
    "This build of the extension bundles no server. Set citewell.server.package to your clone of Citewell, as in /path/to/citewell[online].";
  if ((await vscode.window.showErrorMessage(text, open)) === open) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "citewell.server.package");
  }
}

async function explainFailure(tail: string, runs: boolean): Promise<void> {
  const again = "Try Again";
  const show = "Show Output";
  const kept = runs ? " The running server was not changed." : "";
  const text = `Installing the Citewell server failed (${reason(tail)}). ${hint(tail)}${kept}`;
  const chosen = await vscode.window.showErrorMessage(text, again, show);
  if (chosen === again) await vscode.commands.executeCommand("citewell.installServer");
  if (chosen === show) await vscode.commands.executeCommand("citewell.showOutput");
}
