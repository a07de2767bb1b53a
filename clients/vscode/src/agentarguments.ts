/** How the server for agents is started. Independent of the editor. */

/** The arguments: it reads the folders of the workspace, and writes nothing. */
export function agentArguments(folders: readonly string[]): string[] {
  return ["mcp", ...folders.flatMap((folder) => ["--root", folder])];
}
