import assert from "node:assert/strict";
import { test } from "node:test";
import { candidates, discover, expand, onPath, type SearchContext } from "../src/discovery";

const LINUX: SearchContext = {
  platform: "linux",
  home: "/home/a",
  variables: { PATH: "/usr/bin:relative:/home/a/.local/bin" },
  setting: "",
  python: "/work/.venv/bin/python3",
  managed: "/home/a/.config/Code/citewell/server",
};
const WINDOWS: SearchContext = {
  platform: "win32",
  home: "C:\\Users\\a",
  variables: { Path: 'C:\\Windows;"D:\\Tools"', APPDATA: "C:\\Users\\a\\AppData\\Roaming" },
  setting: "",
  python: "D:\\env\\python.exe",
  managed: "C:\\Users\\a\\server",
};

const among = (files: string[]) => async (file: string) => files.includes(file);

test("the order is environment, path, uv, pipx, managed", () => {
  assert.deepEqual(
    candidates(LINUX).map(({ origin, command }) => `${origin} ${command}`),
    [
      "environment /work/.venv/bin/citewell",
      "path /usr/bin/citewell",
      "path /home/a/.local/bin/citewell",
      "uv /home/a/.local/share/uv/tools/citewell/bin/citewell",
      "pipx /home/a/.local/share/pipx/venvs/citewell/bin/citewell",
      "pipx /home/a/.local/pipx/venvs/citewell/bin/citewell",
      "pipx /home/a/Library/Application Support/pipx/venvs/citewell/bin/citewell",
      "managed /home/a/.config/Code/citewell/server/bin/citewell",
    ],
  );
});

test("on Windows the programs have its names and folders", () => {
  const commands = candidates(WINDOWS).map(({ command }) => command);
  assert.ok(commands.includes("D:\\env\\Scripts\\citewell.exe"));
  assert.ok(commands.includes("D:\\Tools\\citewell.exe"));
  assert.ok(commands.includes("C:\\Users\\a\\AppData\\Roaming\\uv\\tools\\citewell\\Scripts\\citewell.exe"));
  assert.equal(commands.at(-1), "C:\\Users\\a\\server\\Scripts\\citewell.exe");
});

test("a folder of the path that depends on where one stands is left out", () => {
  assert.deepEqual(onPath(LINUX), ["/usr/bin/citewell", "/home/a/.local/bin/citewell"]);
  assert.deepEqual(onPath({ platform: "linux", variables: {} }), []);
});

test("the first that is there is taken", async () => {
  const found = await discover(LINUX, among(["/usr/bin/citewell", "/home/a/.local/bin/citewell"]));
  assert.deepEqual(found, { kind: "found", server: { origin: "path", command: "/usr/bin/citewell" } });
  assert.deepEqual(await discover(LINUX, among([])), { kind: "missing" });
});

test("no Python that must not be run is looked at", () => {
  const found = candidates({ ...LINUX, python: "" });
  assert.ok(found.every(({ origin }) => origin !== "environment"));
});

test("a setting stands alone: where it names nothing, nothing else is started in its place", async () => {
  const around = { ...LINUX, setting: "/opt/citewell" };
  assert.deepEqual(await discover(around, among(["/usr/bin/citewell"])), {
    kind: "wrong-setting",
    command: "/opt/citewell",
  });
  const found = await discover(around, among(["/opt/citewell"]));
  assert.equal(found.kind === "found" && found.server.origin, "setting");
});

test("the variables of uv and pipx are followed", () => {
  const around = { ...LINUX, variables: { UV_TOOL_DIR: "/t", PIPX_HOME: "/p" } };
  const commands = candidates(around).map(({ command }) => command);
  assert.ok(commands.includes("/t/citewell/bin/citewell"));
  assert.ok(commands.includes("/p/venvs/citewell/bin/citewell"));
});

test("what stands for a folder in a setting is replaced", () => {
  const variables = { VENV: "/v" };
  const folder = "$" + "{workspaceFolder}/x";
  const variable = "$" + "{env:VENV}/x$" + "{env:NONE}";
  assert.equal(expand("~/bin/citewell", "/home/a", "/w", variables), "/home/a/bin/citewell");
  assert.equal(expand(folder, "/home/a", "/w", variables), "/w/x");
  assert.equal(expand(variable, "/home/a", "/w", variables), "/v/x");
  assert.equal(expand("~user/x", "/home/a", "/w", variables), "~user/x");
});
