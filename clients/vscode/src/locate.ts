/** Finds the server, with inputs from the editor and the file system. */

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { type Discovery, discover, expand, onPath, type SearchContext } from "./discovery";
import { currentEnvironment } from "./managed";

/** The part of the Python extension's API that is used here. */
interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(of: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

const PYTHON = "ms-python.python";
const PYTHON_SECONDS = 5;

export async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** Finds the server without running a program. */
export async function locate(context: vscode.ExtensionContext): Promise<Discovery> {
  return discover(await searchContext(context), isProgram);
}

async function searchContext(context: vscode.ExtensionContext): Promise<SearchContext> {
  return {
    platform: process.platform,
    home: os.homedir(),
    variables: process.env,
    setting: await settingPath(),
    python: vscode.workspace.isTrusted ? await activePython() : "",
    managed: await currentEnvironment(context.globalStorageUri.fsPath),
  };
}

async function settingPath(): Promise<string> {
  const section = vscode.workspace.getConfiguration("citewell.server");
  // The manifest restricts this setting as well; this is a second guard.
  const value = vscode.workspace.isTrusted
    ? section.get<string>("path")
    : section.inspect<string>("path")?.globalValue;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  const text = expand(value ?? "", os.homedir(), folder, process.env);
  if (!text || path.isAbsolute(text)) return text;
  if (text !== path.basename(text)) return path.resolve(folder || os.homedir(), text);
  for (const command of onPath({ platform: process.platform, variables: process.env }, text)) {
    if (await isProgram(command)) return command;
  }
  return text;
}

async function activePython(): Promise<string> {
  const api = await pythonApi();
  const resource = vscode.workspace.workspaceFolders?.[0]?.uri;
  try {
    const active = api?.environments?.getActiveEnvironmentPath(resource);
    if (!active) return "";
    const environment = await withTimeout(PYTHON_SECONDS, api?.environments?.resolveEnvironment(active));
    return environment?.executable.uri?.fsPath ?? "";
  } catch {
    // A failure of another extension must not prevent finding the server elsewhere.
    return "";
  }
}

async function pythonApi(): Promise<PythonExtension | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>(PYTHON);
  if (!extension) return undefined;
  try {
    return await withTimeout(PYTHON_SECONDS, Promise.resolve(extension.activate()));
  } catch {
    return undefined;
  }
}

async function withTimeout<T>(seconds: number, promise: Promise<T> | undefined): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((done) => {
    timer = setTimeout(() => done(undefined), seconds * 1000);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Subscribes to changes of the active Python environment. */
export async function onPythonChange(then: () => void): Promise<vscode.Disposable | undefined> {
  const api = await pythonApi();
  return api?.environments?.onDidChangeActiveEnvironmentPath(then);
}
