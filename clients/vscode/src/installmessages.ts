/** The requirements to install, and hints for failures. Independent of the editor. */

import * as path from "node:path";
import { pathToFileURL } from "node:url";

/** The extras to install: online sources. */
const EXTRAS = "online";
/** Begins the name of the starter library's wheel. */
const STARTER = "citewell_starter-";

/**
 * The requirements for pip or uv: the setting, else the bundled wheels of the server and of the starter
 * library; none without the server's.
 */
export function requirements(setting: string, wheels: readonly string[]): string[] {
  if (setting.trim()) return [setting.trim()];
  const isStarter = (wheel: string) => path.basename(wheel).startsWith(STARTER);
  const server = wheels.find((wheel) => !isStarter(wheel));
  if (!server) return [];
  return [`citewell[${EXTRAS}] @ ${pathToFileURL(server).href}`, ...wheels.filter(isStarter)];
}

const HINTS: readonly (readonly [RegExp, string])[] = [
  [/No space left|not enough space|disk quota|ENOSPC/i, "The disk is full: free about 1 GB and try again."],
  [
    /Permission denied|Access is denied|EACCES|EPERM|Read-only file system/i,
    "A folder is not writable: grant yourself write permission and try again.",
  ],
  [
    /certificate|SSLError/i,
    "The certificate of the package index is not trusted: set the CA certificates of your network for pip (PIP_CERT) and try again.",
  ],
  [
    /NewConnectionError|Max retries|ConnectionError|name resolution|getaddrinfo|timed? ?out|unreachable|dns error|error sending request|Could not connect|ProxyError|Network is/i,
    "The package index could not be reached: check the network and the proxy, and try again.",
  ],
  [
    /does not exist|No such file|Invalid requirement|Failed to parse|does not appear to be a Python project/i,
    "The package to install does not exist: correct the setting citewell.server.package, or leave it empty.",
  ],
  [
    /Failed building wheel|Failed to build|Microsoft Visual C\+\+|error: command /i,
    "A package had to be compiled: install a 64-bit Python 3.11 to 3.13, which has prebuilt packages, and try again.",
  ],
  [
    /No matching distribution|Could not find a version|no versions of|has no wheels/i,
    "The package index lacks a package for this Python: install a 64-bit Python 3.11 to 3.13 and try again.",
  ],
];

/** A hint on what to do, from the last lines of pip or uv. */
export function hint(tail: string): string {
  // pip follows a network failure by "no matching distribution"; the first match wins.
  return HINTS.find(([pattern]) => pattern.test(tail))?.[1] ?? "See the output for the reason and try again.";
}

/** The last line marked as an error, else the last line; at most 200 characters. */
export function reason(tail: string): string {
  const lines = tail.split("\n").map((line) => line.trim());
  const marked = lines.filter((line) => /^(?:ERROR|error|×|Error)\b/.test(line));
  return (marked.at(-1) ?? lines.filter(Boolean).at(-1) ?? "")
    .replace(/^(?:ERROR|error|Error):\s*/, "")
    .slice(0, 200);
}
