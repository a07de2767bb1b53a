import assert from "node:assert/strict";
import { test } from "node:test";
import { hint, reason, requirements } from "../src/installmessages";
import { type Memory, Silence } from "../src/silence";

test("the wheel of the extension is what is installed, unless a setting names something else", () => {
  const wheel = "/ext/a b/citewell-0.1.0-py3-none-any.whl";
  const starter = "/ext/a b/citewell_starter-0.1.0-py3-none-any.whl";
  assert.deepEqual(requirements("", [starter, wheel]), [
    "citewell[online] @ file:///ext/a%20b/citewell-0.1.0-py3-none-any.whl",
    starter,
  ]);
  assert.deepEqual(requirements(" /home/a/citewell[online] ", [wheel]), ["/home/a/citewell[online]"]);
  assert.deepEqual(requirements("", [starter]), []);
});

const TAILS: readonly (readonly [string, RegExp])[] = [
  ["ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", /disk is full/],
  [
    "WARNING: Retrying after connection broken by 'NewConnectionError(... Temporary failure in name resolution)'\nERROR: No matching distribution found for attrs>=24.2",
    /index could not be reached/,
  ],
  ["ERROR: No matching distribution found for numpy>=99", /lacks a package for this Python/],
  ["error: command 'gcc' failed: No such file", /The package to install|compiled/],
  ["  × Failed to build `usearch`", /compiled/],
  ["ERROR: Invalid requirement: '/nowhere/x.whl': Expected package name", /citewell\.server\.package/],
  ["[Errno 13] Permission denied: '/home/a/x'", /not writable/],
  ["something new", /See the output/],
];

for (const [tail, wanted] of TAILS) {
  test(`a failed install says what to do: ${tail.slice(0, 50)}`, () => assert.match(hint(tail), wanted));
}

test("the reason is the last line that is marked as an error", () => {
  assert.equal(reason("Collecting x\nERROR: No y\n[notice] A new release of pip is there"), "No y");
  assert.equal(reason("only\nthis"), "this");
});

test("what is silenced stays so over windows, until all is shown again", async () => {
  const kept = new Map<string, unknown>();
  const memory: Memory = {
    get: (key) => kept.get(key),
    update: async (key, value) => {
      kept.set(key, value);
    },
  };
  await new Silence(memory).add("library-missing");
  const other = new Silence(memory);
  assert.ok(other.covers("library-missing"));
  assert.ok(!other.covers("missing"));
  await other.end();
  assert.ok(!new Silence(memory).covers("library-missing"));
});
