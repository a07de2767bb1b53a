/** The settings that the author set, without defaults. */

/** The values of one setting by scope. */
export interface Inspection {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

const CLIENT_ONLY = /^citewell\.(?:server|trace|panel)\./;

/** Names of the server's settings in a manifest, such as `citewell.bib.target`. */
export function serverSettings(manifest: unknown): string[] {
  const configuration = (manifest as { contributes?: { configuration?: unknown } }).contributes
    ?.configuration;
  const blocks = Array.isArray(configuration) ? configuration : [configuration];
  return blocks
    .flatMap((block) => Object.keys((block as { properties?: object } | undefined)?.properties ?? {}))
    .filter((name) => name.startsWith("citewell.") && !CLIENT_ONLY.test(name));
}

/**
 * The tree below `citewell` with the values that the author set.
 *
 * An editor returns a value for every setting, by default its default. For the server, settings of the
 * editor override `citewell.toml` and the user file, so defaults must not be sent.
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
  // Objects are merged across scopes; any other value of a narrower scope replaces the wider one.
  return tables.length === set.length && set.length > 1 ? Object.assign({}, ...tables) : set.at(-1);
}
