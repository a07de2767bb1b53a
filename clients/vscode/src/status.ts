/** The content of the status bar item. */

import type { ServerState } from "./client";

/** The fields used of the result of `citewell.status`. */
export interface EngineStatus {
  readonly library: string;
  readonly works: number;
  readonly sources?: readonly string[];
  readonly encoder?: string;
  readonly ranker?: string;
  readonly problems?: readonly { code: string; message: string; hint: string }[];
}

export interface StatusBarContent {
  readonly text: string;
  readonly tooltip: string;
  readonly level: "plain" | "warning" | "error";
}

/** The content for a state of the server and its engine. */
export function show(state: ServerState, engine: EngineStatus | undefined): StatusBarContent {
  switch (state.kind) {
    case "stopped":
      return { text: "$(book) Citewell", tooltip: "Citewell is not running.", level: "plain" };
    case "starting":
      return { text: "$(loading~spin) Citewell", tooltip: "Citewell is starting.", level: "plain" };
    case "missing":
      return {
        text: "$(warning) Citewell: no server",
        tooltip: "The Citewell server was not found. Click to install it.",
        level: "warning",
      };
    case "wrong-setting":
      return {
        text: "$(error) Citewell: no server",
        tooltip: `citewell.server.path names ${state.command}, which is not a program.`,
        level: "error",
      };
    case "failed":
      return { text: "$(error) Citewell: stopped", tooltip: state.reason, level: "error" };
    case "old":
      return {
        text: "$(warning) Citewell: old server",
        tooltip: `The server at ${state.server.command} is too old: ${state.version || "no version"}.`,
        level: "warning",
      };
    case "running":
      return running(state, engine);
  }
}

function running(
  state: Extract<ServerState, { kind: "running" }>,
  engine: EngineStatus | undefined,
): StatusBarContent {
  const server = `Server ${state.version}: ${state.server.command}`;
  if (!engine) return { text: "$(book) Citewell", tooltip: server, level: "plain" };
  const problems = (engine.problems ?? []).map((problem) => `${problem.message} ${problem.hint}`.trim());
  if (!engine.library) {
    return {
      text: "$(book) Citewell: no library",
      tooltip: [...problems, "Click to choose a library of papers.", server].join("\n"),
      level: "warning",
    };
  }
  const sources = engine.sources?.length
    ? `Sources on: ${engine.sources.join(", ")}`
    : "Sources off: nothing leaves this machine";
  return {
    text: `$(book) ${libraryName(engine.library)}${engine.sources?.length ? " $(globe)" : ""}`,
    tooltip: [
      `Library ${libraryName(engine.library)}: ${engine.works.toLocaleString("en")} papers`,
      sources,
      ...problems,
      server,
    ].join("\n"),
    level: problems.length > 0 ? "warning" : "plain",
  };
}

/** The last component of a library's path. */
export function libraryName(folder: string): string {
  return folder.split(/[\\/]/).filter(Boolean).at(-1) ?? folder;
}
