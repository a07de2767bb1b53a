// Bundles the TypeScript tests and runs them with Node's test runner.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const names = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
rmSync("build/test", { recursive: true, force: true });
await build({
  entryPoints: names.map((name) => join("test", name)),
  outdir: "build/test",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  logLevel: "warning",
});
const files = names.map((name) => join("build/test", name.replace(/\.ts$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" });
process.exit(status ?? 1);
