/** What is installed, and what an author is told when that fails. Knows nothing of the editor. */

import { pathToFileURL } from "node:url";

/** Parts of the server that are installed with it: the starter library, and online sources. */
const EXTRAS = "starter,online";

/** What pip and uv take: the setting, else the wheel that came with the extension. */
export function requirement(setting: string, wheel: string | undefined): string | undefined {
  if (setting.trim()) return setting.trim();
  return wheel && `citewell[${EXTRAS}] @ ${pathToFileURL(wheel).href}`;
}

const CURES: readonly (readonly [RegExp, string])[] = [
  [/No space left|not enough space|disk quota|ENOSPC/i, "The disk is full: free about 1 GB, then try again."],
  [
    /Permission denied|Access is denied|EACCES|EPERM|Read-only file system/i,
    "A folder could not be written: give yourself the right to write there, then try again.",
  ],
  [
    /certificate|SSLError/i,
    "The package index was not trusted: set the certificates of your network for pip (PIP_CERT), then try again.",
  ],
  [
    /NewConnectionError|Max retries|ConnectionError|name resolution|getaddrinfo|timed? ?out|unreachable|dns error|error sending request|Could not connect|ProxyError|Network is/i,
    "The package index could not be reached: check the network and the proxy, then try again.",
  ],
  [
    /does not exist|No such file|Invalid requirement|Failed to parse|does not appear to be a Python project/i,
    "What was to be installed is not there: correct the setting citewell.server.package, or leave it empty.",
  ],
  [
    /Failed building wheel|Failed to build|Microsoft Visual C\+\+|error: command /i,
    "A package had to be compiled: install a 64-bit Python 3.11 to 3.13, for which all are ready-made, then try again.",
  ],
  [
    /No matching distribution|Could not find a version|no versions of|has no wheels/i,
    "The package index lacks a package for this Python: install a 64-bit Python 3.11 to 3.13, then try again.",
  ],
];

/** One sentence on what to do, from the last lines that pip or uv wrote. */
export function hint(tail: string): string {
  // pip repeats a network failure as "no matching distribution": the first cause that is named counts.
  return CURES.find(([sign]) => sign.test(tail))?.[1] ?? "The output says why; then try again.";
}

/** The line that says what went wrong: the last that is marked as an error. */
export function reason(tail: string): string {
  const lines = tail.split("\n").map((line) => line.trim());
  const marked = lines.filter((line) => /^(?:ERROR|error|×|Error)\b/.test(line));
  return (marked.at(-1) ?? lines.filter(Boolean).at(-1) ?? "")
    .replace(/^(?:ERROR|error|Error):\s*/, "")
    .slice(0, 200);
}
