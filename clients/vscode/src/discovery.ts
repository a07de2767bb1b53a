/** Where the server may be, in the order in which the places are tried. Knows nothing of the editor. */

import * as path from "node:path";

/** Who says that the server is there. */
export type Origin = "setting" | "environment" | "path" | "uv" | "pipx" | "managed";

export interface Candidate {
  readonly origin: Origin;
  readonly command: string;
}

/** What decides where to look; everything comes from outside, so that any system can be tried on any other. */
export interface Surroundings {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** `citewell.server.path`, as it may be used: empty when none may. */
  readonly setting: string;
  /** The Python of the active environment; empty when there is none, or it must not be run. */
  readonly python: string;
  /** The folder of the environment that the extension makes itself. */
  readonly managed: string;
}

/** Does a program stand at this path? */
export type Exists = (file: string) => Promise<boolean>;

/** What was found: a program, nothing, or a setting that names something that is not there. */
export type Discovery =
  | { readonly kind: "found"; readonly server: Candidate }
  | { readonly kind: "missing" }
  | { readonly kind: "wrong-setting"; readonly command: string };

/** The program in an environment, with the name and folder that the system uses. */
export function programIn(folder: string, platform: NodeJS.Platform, name = "citewell"): string {
  return platform === "win32"
    ? path.win32.join(folder, "Scripts", `${name}.exe`)
    : path.posix.join(folder, "bin", name);
}

/** Every place to look, in order; the setting stands alone when there is one. */
export function candidates(around: Surroundings): Candidate[] {
  if (around.setting) return [{ origin: "setting", command: around.setting }];
  const found: Candidate[] = [];
  const add = (origin: Origin, commands: readonly string[]) => {
    for (const command of commands) {
      if (!found.some((other) => other.command === command)) found.push({ origin, command });
    }
  };
  add("environment", besidePython(around));
  add("path", onPath(around));
  add("uv", ofUv(around));
  add("pipx", ofPipx(around));
  add("managed", [programIn(around.managed, around.platform)]);
  return found;
}

/** The first place where a program stands. */
export async function discover(around: Surroundings, exists: Exists): Promise<Discovery> {
  for (const server of candidates(around)) {
    if (await exists(server.command)) return { kind: "found", server };
    if (server.origin === "setting") return { kind: "wrong-setting", command: server.command };
  }
  return { kind: "missing" };
}

/** `~`, `${workspaceFolder}` and `${env:NAME}` in a setting, replaced; a bare name is looked up on the path. */
export function expand(
  text: string,
  home: string,
  folder: string,
  variables: Surroundings["variables"],
): string {
  return text
    .trim()
    .replace(/^~(?=$|[\\/])/, () => home)
    .replace(/\$\{workspaceFolder\}/g, () => folder)
    .replace(/\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g, (_all, name: string) => variables[name] ?? "");
}

/** Names of a program below the folders of PATH; folders that are relative to where one stands are left out. */
export function onPath(around: Pick<Surroundings, "platform" | "variables">, name = "citewell"): string[] {
  const windows = around.platform === "win32";
  const system = windows ? path.win32 : path.posix;
  const value = around.variables.PATH ?? around.variables.Path ?? "";
  return value
    .split(system.delimiter)
    .map((folder) => folder.replace(/^"(.*)"$/, "$1"))
    .filter((folder) => system.isAbsolute(folder))
    .map((folder) => system.join(folder, windows ? `${name}.exe` : name));
}

function besidePython({ python, platform }: Surroundings): string[] {
  if (!python) return [];
  if (platform !== "win32") return [path.posix.join(path.posix.dirname(python), "citewell")];
  const folder = path.win32.dirname(python);
  // In a conda environment python.exe stands above Scripts, in any other within it.
  return [path.win32.join(folder, "citewell.exe"), path.win32.join(folder, "Scripts", "citewell.exe")];
}

function ofUv({ platform, home, variables }: Surroundings): string[] {
  if (platform === "win32") {
    const tools = variables.UV_TOOL_DIR ?? path.win32.join(roaming(home, variables), "uv", "tools");
    const data = path.win32.join(roaming(home, variables), "uv", "data", "tools");
    return [tools, data].map((folder) => programIn(path.win32.join(folder, "citewell"), platform));
  }
  const data = variables.XDG_DATA_HOME ?? path.posix.join(home, ".local", "share");
  const tools = variables.UV_TOOL_DIR ?? path.posix.join(data, "uv", "tools");
  return [programIn(path.posix.join(tools, "citewell"), platform)];
}

function ofPipx({ platform, home, variables }: Surroundings): string[] {
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

function roaming(home: string, variables: Surroundings["variables"]): string {
  return variables.APPDATA ?? path.win32.join(home, "AppData", "Roaming");
}
