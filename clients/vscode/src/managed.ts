/**
 * The environments that the extension creates for the server. Independent of the editor.
 *
 * Each has its own folder and is used only once a pointer file names it, so that a failed installation
 * affects neither the current environment nor the running server.
 */

import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import * as path from "node:path";

const FOLDER = "servers";
const POINTER = "current";
/** The folder of the single environment of earlier versions. */
const FIRST = "server";
/** Another window may still use a replaced environment, or be creating one. */
const KEPT_MS = 2 * 24 * 3600 * 1000;

/** The folder of the current environment; it may not exist. */
export async function currentEnvironment(storage: string): Promise<string> {
  try {
    const name = (await readFile(path.join(storage, FOLDER, POINTER), "utf8")).trim();
    if (name && name === path.basename(name)) return path.join(storage, FOLDER, name);
  } catch {
    // No environment yet.
  }
  return path.join(storage, FIRST);
}

/** The folder of a new environment; only its parent is created. */
export async function newEnvironment(storage: string, now: Date): Promise<string> {
  await mkdir(path.join(storage, FOLDER), { recursive: true });
  return path.join(storage, FOLDER, now.toISOString().replace(/[^0-9]/g, ""));
}

/** Makes this environment the current one. */
export async function adopt(storage: string, folder: string): Promise<void> {
  const pointer = path.join(storage, FOLDER, POINTER);
  await writeFile(`${pointer}.new`, path.basename(folder));
  await rename(`${pointer}.new`, pointer);
}

/** Removes an environment as far as possible: some systems keep files in use. */
export async function discard(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
}

/** Removes environments that were replaced or left incomplete days ago. */
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
