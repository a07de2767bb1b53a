/** The connection to the server: found, started, restarted, and what is wrong when it is not there. */

import * as os from "node:os";
import * as vscode from "vscode";
import {
  type ConfigurationParams,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  State,
} from "vscode-languageclient/node";
import type { Candidate, Discovery } from "./discovery";
import { locate } from "./locate";
import { chosenSettings, serverSettings } from "./settings";
import { isTooOld } from "./version";

export const LANGUAGES = ["latex", "tex", "bibtex", "markdown", "quarto", "rmd"] as const;

export type ServerState =
  | { readonly kind: "stopped" }
  | { readonly kind: "starting" }
  | { readonly kind: "missing" }
  | { readonly kind: "wrong-setting"; readonly command: string }
  | { readonly kind: "failed"; readonly server: Candidate; readonly reason: string }
  | { readonly kind: "old"; readonly server: Candidate; readonly version: string }
  | { readonly kind: "running"; readonly server: Candidate; readonly version: string };

/** One server for all folders of the window. */
export class Connection implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private current: ServerState = { kind: "stopped" };
  private turn: Promise<void> = Promise.resolve();
  private readonly changed = new vscode.EventEmitter<ServerState>();
  readonly onDidChangeState = this.changed.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly output: vscode.LogOutputChannel,
  ) {}

  get state(): ServerState {
    return this.current;
  }

  /** Starts the server, or another one in its place; calls that overlap run one after the other. */
  restart(): Promise<void> {
    this.turn = this.turn.then(() => this.startAnew()).catch((error) => this.output.error(String(error)));
    return this.turn;
  }

  /** Starts another server where another one would be found now. */
  async reconsider(): Promise<void> {
    const found = await locate(this.context);
    const now = "server" in this.current ? this.current.server.command : undefined;
    if (found.kind !== "found" || found.server.command !== now) await this.restart();
  }

  /** A command of the server; undefined when there is none to ask. */
  async ask<T>(
    command: string,
    argument?: unknown,
    token?: vscode.CancellationToken,
  ): Promise<T | undefined> {
    const client = this.client;
    if (this.current.kind !== "running" || !client) return undefined;
    const params = { command, arguments: argument === undefined ? [] : [argument] };
    return client.sendRequest<T>("workspace/executeCommand", params, token);
  }

  dispose(): void {
    this.changed.dispose();
    void this.client?.dispose();
  }

  private async startAnew(): Promise<void> {
    await this.stop();
    this.say({ kind: "starting" });
    const found: Discovery = await locate(this.context);
    if (found.kind !== "found") {
      this.say(found);
      return;
    }
    this.output.info(`Starting ${found.server.command} (found by: ${found.server.origin})`);
    const client = this.create(found.server);
    try {
      await client.start();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.output.error(`The server did not start: ${reason}`);
      await client.dispose().catch(() => undefined);
      this.say({ kind: "failed", server: found.server, reason });
      return;
    }
    this.client = client;
    const version = client.initializeResult?.serverInfo?.version;
    if (isTooOld(version)) {
      await this.stop();
      this.say({ kind: "old", server: found.server, version: version ?? "" });
      return;
    }
    this.say({ kind: "running", server: found.server, version: version ?? "" });
    client.onDidChangeState(({ newState }) => {
      if (client !== this.client) return;
      if (newState === State.Running)
        this.say({ kind: "running", server: found.server, version: version ?? "" });
      if (newState === State.Starting) this.say({ kind: "starting" });
      if (newState === State.Stopped) {
        this.say({ kind: "failed", server: found.server, reason: "The server ended." });
      }
    });
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client) await client.dispose().catch((error) => this.output.warn(String(error)));
  }

  private say(state: ServerState): void {
    this.current = state;
    this.changed.fire(state);
  }

  private create(server: Candidate): LanguageClient {
    const names = serverSettings(this.context.extension.packageJSON);
    const settings = (scope?: vscode.Uri) => {
      const all = vscode.workspace.getConfiguration(undefined, scope ?? null);
      return chosenSettings(names, (name) => all.inspect(name));
    };
    const options: LanguageClientOptions = {
      documentSelector: LANGUAGES.flatMap((language) => [
        { scheme: "file", language },
        { scheme: "untitled", language },
      ]),
      outputChannel: this.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: settings(),
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
        env: { ...process.env, PYTHONSAFEPATH: "1", PYTHONUTF8: "1" },
      },
    };
    return new LanguageClient("citewell", "Citewell", { run, debug: run }, options);
  }
}
