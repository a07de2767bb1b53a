/**
 * The environments that the extension makes for the server. Knows nothing of the editor.
 *
 * Each is made in a folder of its own and is used only once a pointer names it, so that one that failed
 * touches neither the one in use nor the server that runs from it.
 */

import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import * as path from "node:path";

const FOLDER = "servers";
const POINTER = "current";
/** Where earlier versions of the extension kept the only environment. */
const FIRST = "server";
/** A window may still run what another one has replaced, or be making its own. */
const KEPT_MS = 2 * 24 * 3600 * 1000;

/** The folder of the environment in use; it may not exist. */
export async function currentEnvironment(storage: string): Promise<string> {
  try {
    const name = (await readFile(path.join(storage, FOLDER, POINTER), "utf8")).trim();
    if (name && name === path.basename(name)) return path.join(storage, FOLDER, name);
  } catch {
    // None was made yet.
  }
  return path.join(storage, FIRST);
}

/** A folder for another environment, which does not exist yet. */
export async function newEnvironment(storage: string, now: Date): Promise<string> {
  await mkdir(path.join(storage, FOLDER), { recursive: true });
  return path.join(storage, FOLDER, now.toISOString().replace(/[^0-9]/g, ""));
}

/** From now on this environment is the one in use. */
export async function adopt(storage: string, folder: string): Promise<void> {
  const pointer = path.join(storage, FOLDER, POINTER);
  await writeFile(`${pointer}.new`, path.basename(folder));
  await rename(`${pointer}.new`, pointer);
}

/** Removes an environment, as far as it goes: a file in use stays on some systems. */
export async function discard(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
}

/** Removes the environments that were replaced, or left half made, some days ago. */
export async function sweep(storage: string, now: number): Promise<void> {
  const current = await currentEnvironment(storage);
  const swapped = await age(path.join(storage, FOLDER, POINTER), now);
  if (swapped === undefined || swapped < KEPT_MS) return;
  const names = await readdir(path.join(storage, FOLDER)).catch(() => []);
  const folders = [path.join(storage, FIRST), ...names.map((name) => path.join(storage, FOLDER, name))];
  for (const folder of folders) {
    if (folder === current || path.basename(folder).startsWith(POINTER)) continue;
    if (((await age(folder, now)) ?? 0) > KEPT_MS) await discard(folder);
  }
}

async function age(file: string, now: number): Promise<number | undefined> {
  try {
    return now - (await stat(file)).mtimeMs;
  } catch {
    return undefined;
  }
}
