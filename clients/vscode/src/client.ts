/** The connection to the server: found, started, restarted, and what is wrong when it is not there. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Candidate, Discovery } from "./discovery";
import { locate } from "./locate";
import type { ClientState, Told } from "./protocol";
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
      /** It had run, and ended too often to be started once more. */
      readonly ended: boolean;
    }
  | { readonly kind: "old"; readonly server: Candidate; readonly version: string }
  | { readonly kind: "running"; readonly server: Candidate; readonly version: string };

const LAST_WORDS_MS = 300;
const MOST_WORDS = 4000;

/** One server for all folders of the window. */
export class Connection implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private current: ServerState = { kind: "stopped" };
  private words = "";
  /** The client is about to start the server again. */
  private again = false;
  private turn: Promise<void> = Promise.resolve();
  private readonly changed = new vscode.EventEmitter<ServerState>();
  private readonly referencesChanged = new vscode.EventEmitter<void>();
  readonly onDidChangeState = this.changed.event;
  /** What is known of the references of some document is not what it was. */
  readonly onDidChangeReferences = this.referencesChanged.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly output: vscode.LogOutputChannel,
    private readonly tell: (told: Told) => void,
  ) {}

  get state(): ServerState {
    return this.current;
  }

  /** Starts the server, or another one in its place; calls that overlap run one after the other. */
  restart(): Promise<void> {
    this.turn = this.turn.then(() => this.startAnew()).catch((error) => this.output.error(String(error)));
    return this.turn;
  }

  /** Resolves when no start is under way. */
  settled(): Promise<void> {
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
    // An absent token would be sent as a second parameter, which no server understands.
    const method = "workspace/executeCommand";
    return token ? client.sendRequest<T>(method, params, token) : client.sendRequest<T>(method, params);
  }

  /** Writes a line into the output. */
  log(line: string): void {
    this.output.warn(line);
  }

  /** Ends the server. */
  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client) await client.dispose().catch((error) => this.output.warn(String(error)));
  }

  dispose(): void {
    this.changed.dispose();
    this.referencesChanged.dispose();
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
    // Most of what the editor would have to load for this extension; nobody waits for it here.
    const { createClient } = await import("./protocol");
    const client = createClient(found.server, this.context, this.output, {
      references: () => this.referencesChanged.fire(),
      state: (state) => this.follow(client, found.server, state),
      problem: this.tell,
      ended: (again) => {
        this.again = again;
      },
      words: (text) => {
        this.words = (this.words + text).slice(-MOST_WORDS);
      },
    });
    this.words = "";
    try {
      await client.start();
    } catch (error) {
      await client.dispose().catch(() => undefined);
      // What it said last may arrive after the news that it is gone.
      await new Promise((done) => setTimeout(done, LAST_WORDS_MS));
      const reason = this.lastWords() || (error instanceof Error ? error.message : String(error));
      this.output.error(`The server did not start: ${reason}`);
      if (error instanceof Error) this.output.error(error);
      this.say({ kind: "failed", server: found.server, reason, ended: false });
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
  }

  private follow(client: LanguageClient, server: Candidate, state: ClientState): void {
    if (client !== this.client) return;
    const version = client.initializeResult?.serverInfo?.version ?? "";
    if (state === "running") this.say({ kind: "running", server, version });
    if (state === "starting") this.say({ kind: "starting" });
    if (state === "stopped") void this.stopped(client, server);
  }

  /** The server has ended: it is started again, or stays ended. */
  private async stopped(client: LanguageClient, server: Candidate): Promise<void> {
    if (this.again) {
      this.again = false;
      this.words = "";
      this.say({ kind: "starting" });
      return;
    }
    await new Promise((done) => setTimeout(done, LAST_WORDS_MS));
    if (client !== this.client || client.isRunning()) return;
    this.say({ kind: "failed", server, reason: this.lastWords(), ended: true });
  }

  private lastWords(): string {
    return this.words.trim().split(/\r?\n/).at(-1)?.trim() ?? "";
  }

  private say(state: ServerState): void {
    this.current = state;
    this.changed.fire(state);
  }
}
