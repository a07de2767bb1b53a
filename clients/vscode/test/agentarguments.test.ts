import assert from "node:assert/strict";
import { test } from "node:test";
import { agentArguments } from "../src/agentarguments";

test("the server for agents reads each folder of the workspace", () => {
  assert.deepEqual(agentArguments(["/a b", "/c"]), ["mcp", "--root", "/a b", "--root", "/c"]);
  assert.deepEqual(agentArguments([]), ["mcp"]);
});
