// Writes dist/extension.js, the only file that the editor loads.
import { build } from "esbuild";

const watch = process.argv.includes("--sourcemap");
await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  minify: !watch,
  sourcemap: watch,
  // The ES modules of the language client's parts are smaller than their UMD twins.
  mainFields: ["module", "main"],
  logLevel: "warning",
});
