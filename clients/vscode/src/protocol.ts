/** The language client: its options, capabilities and restart policy. Loaded on demand. */

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
import type { Explored } from "./explored";
import { LANGUAGES } from "./languages";
import type { CommandProgress } from "./progress";
import { pythonEnvironment } from "./run";
import { chosenSettings, serverSettings } from "./settings";

/** Logs errors to the output only; the extension shows its own messages. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** The output channel, which also passes on what the server writes to stderr. */
class ObservedChannel implements vscode.OutputChannel {
  readonly name: string;

  constructor(
    private readonly output: vscode.LogOutputChannel,
    private readonly onAppend: (text: string) => void,
  ) {
    this.name = output.name;
  }

  append(text: string): void {
    this.onAppend(text);
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
  /** Does nothing: the output outlives the client. */
  dispose(): void {}
}

/** Capabilities of this client beyond the protocol. */
class ExperimentalCapabilities implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.experimental = { citewell: { references: true, problems: true } };
  }
  initialize(): void {}
  getState(): FeatureState {
    return { kind: "static" };
  }
  clear(): void {}
}

/** The parameters of `citewell/problem`. */
export interface ProblemParams {
  readonly code: string;
  readonly message: string;
  /** The problem concerns an explicit request of the author. */
  readonly asked: boolean;
}

export type ClientState = "stopped" | "starting" | "running";

export interface ClientEvents {
  /** The references of some document may have changed. */
  readonly references: () => void;
  /** A literature search made a pass. */
  readonly explored: (found: Explored) => void;
  readonly state: (state: ClientState) => void;
  readonly problem: (problem: ProblemParams) => void;
  /** Takes the progress of the commands that the author started. */
  readonly progress: CommandProgress;
  /** The server exited on its own. */
  readonly ended: (willRestart: boolean) => void;
  /** The server wrote to stderr. */
  readonly stderr: (text: string) => void;
}

/** A server that crashes this often within the window is not restarted. */
export const MAX_CRASHES = 5;
const CRASH_WINDOW_MS = 3 * 60_000;

const NAMES: Record<State, ClientState> = {
  [State.Stopped]: "stopped",
  [State.Starting]: "starting",
  [State.Running]: "running",
};

/** Restarts a server that crashed, until it has crashed too often. */
class RestartPolicy implements ErrorHandler {
  private times: number[] = [];
  /** False while an exit is a failed start, which `Connection` reports. */
  hasRun = false;

  constructor(private readonly onEnd: (willRestart: boolean) => void) {}

  error(): { action: ErrorAction; handled: boolean } {
    return { action: ErrorAction.Continue, handled: true };
  }

  closed(): CloseHandlerResult {
    const now = Date.now();
    this.times = [...this.times.filter((time) => now - time < CRASH_WINDOW_MS), now];
    const willRestart = this.hasRun && this.times.length < MAX_CRASHES;
    if (this.hasRun) this.onEnd(willRestart);
    return { action: willRestart ? CloseAction.Restart : CloseAction.DoNotRestart, handled: true };
  }
}

/** A language client for a server, not started. */
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
  const restartPolicy = new RestartPolicy(events.ended);
  const options: LanguageClientOptions = {
    errorHandler: restartPolicy,
    documentSelector: LANGUAGES.flatMap((language) => [
      { scheme: "file", language },
      { scheme: "untitled", language },
    ]),
    outputChannel: new ObservedChannel(output, events.stderr),
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
      handleWorkDoneProgress: (token, step, next) => {
        const cancel = () =>
          void client.sendNotification("window/workDoneProgress/cancel", { token }).catch(() => undefined);
        if (!events.progress.show(token, step, cancel)) next(token, step);
      },
    },
  };
  const run = {
    command: server.command,
    args: ["lsp", "--stdio"],
    options: {
      // Not the workspace: Python must not import modules from it.
      cwd: os.homedir(),
      env: pythonEnvironment(),
    },
  };
  const client = new QuietClient("citewell", "Citewell", { run, debug: run }, options);
  client.registerFeature(new ExperimentalCapabilities());
  client.onNotification("citewell/referencesChanged", events.references);
  client.onNotification("citewell/explored", events.explored);
  client.onNotification("citewell/problem", events.problem);
  client.onDidChangeState(({ newState }) => {
    restartPolicy.hasRun ||= newState === State.Running;
    events.state(NAMES[newState]);
  });
  return client;
}
