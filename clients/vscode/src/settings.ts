/** The settings that the author made, and nothing else. */

/** What an editor knows of one setting: where it has which value. */
export interface Inspection {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

const OWN = /^citewell\.(?:server|trace|panel)\./;

/** Names of the settings in a manifest that are the server's, as `citewell.bib.target`. */
export function serverSettings(manifest: unknown): string[] {
  const configuration = (manifest as { contributes?: { configuration?: unknown } }).contributes
    ?.configuration;
  const blocks = Array.isArray(configuration) ? configuration : [configuration];
  return blocks
    .flatMap((block) => Object.keys((block as { properties?: object } | undefined)?.properties ?? {}))
    .filter((name) => name.startsWith("citewell.") && !OWN.test(name));
}

/**
 * The tree below `citewell` with the values that somebody set.
 *
 * An editor answers for every setting it knows, with the default where nobody set one. The server takes
 * what the editor says over `citewell.toml` and its user file, so that defaults must not be told to it.
 */
export function chosenSettings(
  names: readonly string[],
  inspect: (name: string) => Inspection | undefined,
): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const name of names) {
    const value = chosen(inspect(name));
    if (value === undefined) continue;
    const steps = name.split(".").slice(1);
    const last = steps.pop();
    if (!last) continue;
    let node = tree;
    for (const step of steps) {
      node[step] ??= {};
      node = node[step] as Record<string, unknown>;
    }
    node[last] = value;
  }
  return tree;
}

function chosen(found: Inspection | undefined): unknown {
  const values = [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue];
  const set = values.filter((value) => value !== undefined);
  const tables = set.filter((value) => typeof value === "object" && value !== null && !Array.isArray(value));
  // An editor merges tables; anything else of a nearer place takes the whole setting.
  return tables.length === set.length && set.length > 1 ? Object.assign({}, ...tables) : set.at(-1);
}
