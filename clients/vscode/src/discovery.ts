/** Where the server may be, in search order. Independent of the editor. */

import * as path from "node:path";

/** Where a server was found. */
export type Origin = "setting" | "environment" | "path" | "uv" | "pipx" | "managed";

export interface Candidate {
  readonly origin: Origin;
  readonly command: string;
}

/** Inputs of the search, passed in so that tests can simulate any platform. */
export interface SearchContext {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** `citewell.server.path`, expanded; empty if unset or not allowed. */
  readonly setting: string;
  /** The Python of the active environment; empty if there is none or the workspace is untrusted. */
  readonly python: string;
  /** The folder of the environment that the extension installed. */
  readonly managed: string;
}

/** Whether a path is an executable file. */
export type Exists = (file: string) => Promise<boolean>;

/** The result: a program, nothing, or a setting that names no program. */
export type Discovery =
  | { readonly kind: "found"; readonly server: Candidate }
  | { readonly kind: "missing" }
  | { readonly kind: "wrong-setting"; readonly command: string };

/** The path of a program in a Python environment on a platform. */
export function programIn(folder: string, platform: NodeJS.Platform, name = "citewell"): string {
  return platform === "win32"
    ? path.win32.join(folder, "Scripts", `${name}.exe`)
    : path.posix.join(folder, "bin", name);
}

/** All candidates in order; only the setting, if there is one. */
export function candidates(context: SearchContext): Candidate[] {
  if (context.setting) return [{ origin: "setting", command: context.setting }];
  const found: Candidate[] = [];
  const add = (origin: Origin, commands: readonly string[]) => {
    for (const command of commands) {
      if (!found.some((other) => other.command === command)) found.push({ origin, command });
    }
  };
  add("environment", environmentPrograms(context));
  add("path", onPath(context));
  add("uv", uvPrograms(context));
  add("pipx", pipxPrograms(context));
  add("managed", [programIn(context.managed, context.platform)]);
  return found;
}

/** The first candidate that exists. */
export async function discover(context: SearchContext, exists: Exists): Promise<Discovery> {
  for (const server of candidates(context)) {
    if (await exists(server.command)) return { kind: "found", server };
    if (server.origin === "setting") return { kind: "wrong-setting", command: server.command };
  }
  return { kind: "missing" };
}

/** A setting with `~`, `${workspaceFolder}` and `${env:NAME}` expanded. */
export function expand(
  text: string,
  home: string,
  folder: string,
  variables: SearchContext["variables"],
): string {
  return text
    .trim()
    .replace(/^~(?=$|[\\/])/, () => home)
    .replace(/\$\{workspaceFolder\}/g, () => folder)
    .replace(/\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g, (_all, name: string) => variables[name] ?? "");
}

/** Paths of a program in the folders of PATH; relative folders are skipped. */
export function onPath(context: Pick<SearchContext, "platform" | "variables">, name = "citewell"): string[] {
  const windows = context.platform === "win32";
  const system = windows ? path.win32 : path.posix;
  const value = context.variables.PATH ?? context.variables.Path ?? "";
  return value
    .split(system.delimiter)
    .map((folder) => folder.replace(/^"(.*)"$/, "$1"))
    .filter((folder) => system.isAbsolute(folder))
    .map((folder) => system.join(folder, windows ? `${name}.exe` : name));
}

function environmentPrograms({ python, platform }: SearchContext): string[] {
  if (!python) return [];
  if (platform !== "win32") return [path.posix.join(path.posix.dirname(python), "citewell")];
  const folder = path.win32.dirname(python);
  // In a conda environment python.exe is above Scripts, in any other inside it.
  return [path.win32.join(folder, "citewell.exe"), path.win32.join(folder, "Scripts", "citewell.exe")];
}

function uvPrograms({ platform, home, variables }: SearchContext): string[] {
  if (platform === "win32") {
    const tools = variables.UV_TOOL_DIR ?? path.win32.join(roaming(home, variables), "uv", "tools");
    const data = path.win32.join(roaming(home, variables), "uv", "data", "tools");
    return [tools, data].map((folder) => programIn(path.win32.join(folder, "citewell"), platform));
  }
  const data = variables.XDG_DATA_HOME ?? path.posix.join(home, ".local", "share");
  const tools = variables.UV_TOOL_DIR ?? path.posix.join(data, "uv", "tools");
  return [programIn(path.posix.join(tools, "citewell"), platform)];
}

function pipxPrograms({ platform, home, variables }: SearchContext): string[] {
  const { join } = platform === "win32" ? path.win32 : path.posix;
  const homes = variables.PIPX_HOME
    ? [variables.PIPX_HOME]
    : platform === "win32"
      ? [join(home, "pipx"), join(home, ".local", "pipx")]
      : [
          join(variables.XDG_DATA_HOME ?? join(home, ".local", "share"), "pipx"),
          join(home, ".local", "pipx"),
          join(home, "Library", "Application Support", "pipx"),
        ];
  return homes.map((folder) => programIn(join(folder, "venvs", "citewell"), platform));
}

function roaming(home: string, variables: SearchContext["variables"]): string {
  return variables.APPDATA ?? path.win32.join(home, "AppData", "Roaming");
}
