/** The connection to the server: discovery, start, restart, and the reason if it does not run. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Candidate, Discovery } from "./discovery";
import type { Explored } from "./explored";
import { locate } from "./locate";
import { CommandProgress } from "./progress";
import type { ClientState, ProblemParams } from "./protocol";
import { isTooOld } from "./version";

export type ServerState =
  | { readonly kind: "stopped" }
  | { readonly kind: "starting" }
  | { readonly kind: "missing" }
  | { readonly kind: "wrong-setting"; readonly command: string }
  | {
      readonly kind: "failed";
      readonly server: Candidate;
      readonly reason: string;
      /** The server had run and crashed too often to be restarted. */
      readonly ended: boolean;
    }
  | { readonly kind: "old"; readonly server: Candidate; readonly version: string }
  | { readonly kind: "running"; readonly server: Candidate; readonly version: string };

const STDERR_GRACE_MS = 300;
const STDERR_LIMIT = 4000;

/** One server for all folders of the window. */
export class Connection implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private current: ServerState = { kind: "stopped" };
  private stderr = "";
  /** The client is about to restart the server. */
  private willRestart = false;
  private queue: Promise<void> = Promise.resolve();
  private readonly progress = new CommandProgress();
  private readonly changed = new vscode.EventEmitter<ServerState>();
  private readonly referencesChanged = new vscode.EventEmitter<void>();
  private readonly explored = new vscode.EventEmitter<Explored>();
  readonly onDidChangeState = this.changed.event;
  /** The check results of some document changed. */
  readonly onDidChangeReferences = this.referencesChanged.event;
  /** A literature search made a pass. */
  readonly onDidExplore = this.explored.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly output: vscode.LogOutputChannel,
    private readonly onProblem: (problem: ProblemParams) => void,
  ) {}

  get state(): ServerState {
    return this.current;
  }

  /** Starts or restarts the server; overlapping calls run one after the other. */
  restart(): Promise<void> {
    this.queue = this.queue.then(() => this.startServer()).catch((error) => this.output.error(String(error)));
    return this.queue;
  }

  /** Resolves when no start is in progress. */
  settled(): Promise<void> {
    return this.queue;
  }

  /** Restarts if discovery now finds a different server. */
  async reconsider(): Promise<void> {
    const found = await locate(this.context);
    const current = "server" in this.current ? this.current.server.command : undefined;
    if (found.kind !== "found" || found.server.command !== current) await this.restart();
  }

  /** The result of a server command; undefined if no server is running. */
  async execute<T>(
    command: string,
    argument?: unknown,
    token?: vscode.CancellationToken,
  ): Promise<T | undefined> {
    const client = this.client;
    if (this.current.kind !== "running" || !client) return undefined;
    const params = { command, arguments: argument === undefined ? [] : [argument] };
    // An undefined token would be sent as a second parameter, which servers reject.
    const method = "workspace/executeCommand";
    return token ? client.sendRequest<T>(method, params, token) : client.sendRequest<T>(method, params);
  }

  /** As `execute`, for a command that takes long: its progress is a notification with a cancel button. */
  executeLong<T>(command: string, argument?: unknown): Promise<T | undefined> {
    return this.progress.during(() => this.execute<T>(command, argument));
  }

  /** Writes a warning to the output channel. */
  log(line: string): void {
    this.output.warn(line);
  }

  /** Stops the server. */
  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client) await client.dispose().catch((error) => this.output.warn(String(error)));
  }

  dispose(): void {
    this.changed.dispose();
    this.referencesChanged.dispose();
    this.explored.dispose();
  }

  private async startServer(): Promise<void> {
    await this.stop();
    this.setState({ kind: "starting" });
    const found: Discovery = await locate(this.context);
    if (found.kind !== "found") {
      this.setState(found);
      return;
    }
    this.output.info(`Starting ${found.server.command} (found by: ${found.server.origin})`);
    // The language client is most of the extension's code; it loads here, not on activation.
    const { createClient } = await import("./protocol");
    const client = createClient(found.server, this.context, this.output, {
      references: () => this.referencesChanged.fire(),
      explored: (found) => this.explored.fire(found),
      state: (state) => this.follow(client, found.server, state),
      problem: this.onProblem,
      progress: this.progress,
      ended: (willRestart) => {
        this.willRestart = willRestart;
      },
      stderr: (text) => {
        this.stderr = (this.stderr + text).slice(-STDERR_LIMIT);
      },
    });
    this.stderr = "";
    try {
      await client.start();
    } catch (error) {
      await client.dispose().catch(() => undefined);
      // The last lines of stderr may arrive after the exit event.
      await new Promise((done) => setTimeout(done, STDERR_GRACE_MS));
      const reason = this.lastErrorLine() || (error instanceof Error ? error.message : String(error));
      this.output.error(`The server did not start: ${reason}`);
      if (error instanceof Error) this.output.error(error);
      this.setState({ kind: "failed", server: found.server, reason, ended: false });
      return;
    }
    this.client = client;
    const version = client.initializeResult?.serverInfo?.version;
    if (isTooOld(version)) {
      await this.stop();
      this.setState({ kind: "old", server: found.server, version: version ?? "" });
      return;
    }
    this.setState({ kind: "running", server: found.server, version: version ?? "" });
  }

  private follow(client: LanguageClient, server: Candidate, state: ClientState): void {
    if (client !== this.client) return;
    const version = client.initializeResult?.serverInfo?.version ?? "";
    if (state === "running") this.setState({ kind: "running", server, version });
    if (state === "starting") this.setState({ kind: "starting" });
    if (state === "stopped") void this.stopped(client, server);
  }

  /** Handles the end of the server: a restart, or the failed state. */
  private async stopped(client: LanguageClient, server: Candidate): Promise<void> {
    if (this.willRestart) {
      this.willRestart = false;
      this.stderr = "";
      this.setState({ kind: "starting" });
      return;
    }
    await new Promise((done) => setTimeout(done, STDERR_GRACE_MS));
    if (client !== this.client || client.isRunning()) return;
    this.setState({ kind: "failed", server, reason: this.lastErrorLine(), ended: true });
  }

  private lastErrorLine(): string {
    return this.stderr.trim().split(/\r?\n/).at(-1)?.trim() ?? "";
  }

  private setState(state: ServerState): void {
    if (state.kind !== "running") this.progress.clear();
    this.current = state;
    this.changed.fire(state);
  }
}
