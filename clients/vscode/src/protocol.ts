/** The language client: what it tells the server, and what it leaves unsaid. Loaded when it is needed. */

import * as os from "node:os";
import * as vscode from "vscode";
import {
  type ClientCapabilities,
  type ConfigurationParams,
  type FeatureState,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  State,
  type StaticFeature,
} from "vscode-languageclient/node";
import type { Candidate } from "./discovery";
import { LANGUAGES } from "./languages";
import { pythonEnvironment } from "./run";
import { chosenSettings, serverSettings } from "./settings";

/** Says its troubles in the output alone: what an author should know is said in our own words. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** The output, with an ear for what the server writes to its error stream. */
class Heard implements vscode.OutputChannel {
  readonly name: string;

  constructor(
    private readonly output: vscode.LogOutputChannel,
    private readonly hear: (text: string) => void,
  ) {
    this.name = output.name;
  }

  append(text: string): void {
    this.hear(text);
    this.output.append(text);
  }
  appendLine(line: string): void {
    this.output.appendLine(line);
  }
  replace(text: string): void {
    this.output.replace(text);
  }
  clear(): void {
    this.output.clear();
  }
  show(): void {
    this.output.show();
  }
  hide(): void {
    this.output.hide();
  }
  /** The output outlives the client. */
  dispose(): void {}
}

/** What this client can do beyond the protocol. */
class Abilities implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.experimental = { citewell: { references: true } };
  }
  initialize(): void {}
  getState(): FeatureState {
    return { kind: "static" };
  }
  clear(): void {}
}

export type ClientState = "stopped" | "starting" | "running";

export interface ClientEvents {
  /** A list of references may be outdated. */
  readonly references: () => void;
  readonly state: (state: ClientState) => void;
  /** The server wrote this to its error stream. */
  readonly words: (text: string) => void;
}

const NAMES: Record<State, ClientState> = {
  [State.Stopped]: "stopped",
  [State.Starting]: "starting",
  [State.Running]: "running",
};

/** A client for a server, not started. */
export function createClient(
  server: Candidate,
  context: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
  events: ClientEvents,
): LanguageClient {
  const names = serverSettings(context.extension.packageJSON);
  const settings = (scope?: vscode.Uri) => {
    const all = vscode.workspace.getConfiguration(undefined, scope ?? null);
    return chosenSettings(names, (name) => all.inspect(name));
  };
  const options: LanguageClientOptions = {
    documentSelector: LANGUAGES.flatMap((language) => [
      { scheme: "file", language },
      { scheme: "untitled", language },
    ]),
    outputChannel: new Heard(output, events.words),
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: settings(),
    initializationFailedHandler: () => false,
    markdown: { isTrusted: false, supportHtml: false },
    middleware: {
      workspace: {
        configuration: (params: ConfigurationParams) =>
          params.items.map((item) =>
            item.section === "citewell"
              ? settings(item.scopeUri ? vscode.Uri.parse(item.scopeUri) : undefined)
              : null,
          ),
      },
    },
  };
  const run = {
    command: server.command,
    args: ["lsp", "--stdio"],
    options: {
      // Not the workspace: Python must not import what lies in it.
      cwd: os.homedir(),
      env: pythonEnvironment(),
    },
  };
  const client = new QuietClient("citewell", "Citewell", { run, debug: run }, options);
  client.registerFeature(new Abilities());
  client.onNotification("citewell/referencesChanged", events.references);
  client.onDidChangeState(({ newState }) => events.state(NAMES[newState]));
  return client;
}
