/** The language client: what it tells the server, and what it leaves unsaid. Loaded when it is needed. */

import * as os from "node:os";
import * as vscode from "vscode";
import {
  type ClientCapabilities,
  CloseAction,
  type CloseHandlerResult,
  type ConfigurationParams,
  ErrorAction,
  type ErrorHandler,
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
    capabilities.experimental = { citewell: { references: true, problems: true } };
  }
  initialize(): void {}
  getState(): FeatureState {
    return { kind: "static" };
  }
  clear(): void {}
}

/** A problem that the server tells of. */
export interface Told {
  readonly code: string;
  readonly message: string;
  /** It answers what the author asked for just now. */
  readonly asked: boolean;
}

export type ClientState = "stopped" | "starting" | "running";

export interface ClientEvents {
  /** A list of references may be outdated. */
  readonly references: () => void;
  readonly state: (state: ClientState) => void;
  readonly problem: (told: Told) => void;
  /** The server ended by itself; `again`: another one is started in its place. */
  readonly ended: (again: boolean) => void;
  /** The server wrote this to its error stream. */
  readonly words: (text: string) => void;
}

/** A server that ends so often in this time stays ended until the author starts it. */
export const MOST_ENDINGS = 5;
const ENDINGS_MS = 3 * 60_000;

const NAMES: Record<State, ClientState> = {
  [State.Stopped]: "stopped",
  [State.Starting]: "starting",
  [State.Running]: "running",
};

/** Starts a server that ended again, until it has ended too often. */
class Endings implements ErrorHandler {
  private times: number[] = [];
  /** Before, an end is a failed start, which is told by who started it. */
  hasRun = false;

  constructor(private readonly tell: (again: boolean) => void) {}

  error(): { action: ErrorAction; handled: boolean } {
    return { action: ErrorAction.Continue, handled: true };
  }

  closed(): CloseHandlerResult {
    const now = Date.now();
    this.times = [...this.times.filter((time) => now - time < ENDINGS_MS), now];
    const again = this.hasRun && this.times.length < MOST_ENDINGS;
    if (this.hasRun) this.tell(again);
    return { action: again ? CloseAction.Restart : CloseAction.DoNotRestart, handled: true };
  }
}

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
  const endings = new Endings(events.ended);
  const options: LanguageClientOptions = {
    errorHandler: endings,
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
  client.onNotification("citewell/problem", events.problem);
  client.onDidChangeState(({ newState }) => {
    endings.hasRun ||= newState === State.Running;
    events.state(NAMES[newState]);
  });
  return client;
}
