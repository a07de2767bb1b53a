import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { adopt, currentEnvironment, discard, newEnvironment, sweep } from "../src/managed";

const DAY = 24 * 3600 * 1000;

async function storage(): Promise<string> {
  return mkdtemp(path.join(tmpdir(), "citewell-managed-"));
}

async function environment(place: string, now: Date): Promise<string> {
  const folder = await newEnvironment(place, now);
  await mkdir(folder);
  await writeFile(path.join(folder, "file"), "x");
  await utimes(folder, now, now);
  return folder;
}

test("the environment of an earlier version is found until there is another", async () => {
  const place = await storage();
  assert.equal(await currentEnvironment(place), path.join(place, "server"));
});

test("an environment is in use from the moment it is adopted, and not before", async () => {
  const place = await storage();
  const first = await environment(place, new Date(2026, 1, 1));
  await adopt(place, first);
  const second = await environment(place, new Date(2026, 1, 2));
  assert.notEqual(first, second);
  assert.equal(await currentEnvironment(place), first);
  await adopt(place, second);
  assert.equal(await currentEnvironment(place), second);
});

test("one that failed is discarded, and the one in use stays", async () => {
  const place = await storage();
  const first = await environment(place, new Date(2026, 1, 1));
  await adopt(place, first);
  await discard(await environment(place, new Date(2026, 1, 2)));
  assert.equal(await currentEnvironment(place), first);
  assert.deepEqual(
    (await readdir(path.join(place, "servers"))).sort(),
    [path.basename(first), "current"].sort(),
  );
});

test("what was replaced goes after some days, when no window can still run it", async () => {
  const place = await storage();
  const now = Date.now();
  const old = await environment(place, new Date(now - 9 * DAY));
  const used = await environment(place, new Date(now - 8 * DAY));
  await adopt(place, used);
  await sweep(place, now);
  assert.equal((await readdir(path.join(place, "servers"))).length, 3);
  const pointer = path.join(place, "servers", "current");
  await utimes(pointer, new Date(now - 3 * DAY), new Date(now - 3 * DAY));
  const young = await environment(place, new Date(now));
  await sweep(place, now);
  const left = await readdir(path.join(place, "servers"));
  assert.ok(!left.includes(path.basename(old)));
  assert.ok(left.includes(path.basename(used)) && left.includes(path.basename(young)));
});

test("a pointer that leads out of the folder is not followed", async () => {
  const place = await storage();
  await mkdir(path.join(place, "servers"));
  await writeFile(path.join(place, "servers", "current"), "../../elsewhere");
  assert.equal(await currentEnvironment(place), path.join(place, "server"));
});
