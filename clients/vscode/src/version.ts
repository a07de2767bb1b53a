/** Server versions in Python's format: `1.2.3`, `1.2.3rc1`, `1.2.3.dev4+local`. */

/** The oldest server that supports all requests of this extension. */
export const MINIMUM = "0.1.0";

const FORM = /^\s*v?(\d+(?:\.\d+)*)(.*)$/;

function parts(version: string): { numbers: number[]; early: boolean } | undefined {
  const match = FORM.exec(version);
  if (!match?.[1]) return undefined;
  const rest = (match[2] ?? "").split("+")[0] ?? "";
  return { numbers: match[1].split(".").map(Number), early: /^[.\-_]?(a|b|c|rc|dev|alpha|beta)/i.test(rest) };
}

/**
 * Negative when `a` is older than `b`, positive when newer, 0 when neither.
 *
 * A pre-release is older than its release; two pre-releases of one release are equal.
 */
export function compareVersions(a: string, b: string): number {
  const left = parts(a);
  const right = parts(b);
  if (!left || !right) return left ? 1 : right ? -1 : 0;
  for (let at = 0; at < Math.max(left.numbers.length, right.numbers.length); at++) {
    const difference = (left.numbers[at] ?? 0) - (right.numbers[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(right.early) - Number(left.early);
}

/** Whether a server version is too old; so is a missing one. */
export function isTooOld(version: string | undefined, minimum = MINIMUM): boolean {
  return version === undefined || compareVersions(version, minimum) < 0;
}
