/** Offers the server for agents to the editor's own chat, without an entry in its settings. */

import * as vscode from "vscode";
import { agentArguments } from "./agentarguments";
import { locate } from "./locate";

const PROVIDER = "citewell.agents";

/** The part of VS Code 1.101 that is used here; older ones lack it. */
interface McpApi {
  readonly lm?: {
    registerMcpServerDefinitionProvider?(
      id: string,
      provider: {
        provideMcpServerDefinitions(): Promise<unknown[]>;
        onDidChangeMcpServerDefinitions: vscode.Event<void>;
      },
    ): vscode.Disposable;
  };
  readonly McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: string[],
    env: Record<string, string>,
    version: string,
  ) => unknown;
}

/**
 * Registers the server. Nothing where the editor is too old for it, or has the call without what it
 * needs: an editor without a chat throws, which must not stop the rest of the extension.
 */
export function offerToAgents(context: vscode.ExtensionContext): vscode.Disposable {
  try {
    return register(context);
  } catch (error) {
    console.info(`Citewell is not offered to the chat: ${String(error)}`);
    return new vscode.Disposable(() => {});
  }
}

function register(context: vscode.ExtensionContext): vscode.Disposable {
  const { lm, McpStdioServerDefinition: Definition } = vscode as unknown as McpApi;
  if (!lm?.registerMcpServerDefinitionProvider || !Definition) return new vscode.Disposable(() => {});
  const changed = new vscode.EventEmitter<void>();
  const provider = {
    onDidChangeMcpServerDefinitions: changed.event,
    async provideMcpServerDefinitions(): Promise<unknown[]> {
      const found = await locate(context);
      if (found.kind !== "found") return [];
      const folders = vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : [];
      const paths = folders.filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath);
      const { version } = context.extension.packageJSON as { version: string };
      return [new Definition("Citewell", found.server.command, agentArguments(paths), {}, version)];
    },
  };
  return vscode.Disposable.from(
    changed,
    lm.registerMcpServerDefinitionProvider(PROVIDER, provider),
    vscode.workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
  );
}
