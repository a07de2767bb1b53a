import assert from "node:assert/strict";
import { test } from "node:test";
import { compareVersions, isTooOld, MINIMUM } from "../src/version";

test("versions are compared number by number", () => {
  const rising = ["0.0.9", "0.1.0.dev3", "0.1", "0.1.1rc1", "0.1.1", "0.2.0", "0.10.0", "1.0.0"];
  for (let at = 1; at < rising.length; at++) {
    const [before, after] = [rising[at - 1] ?? "", rising[at] ?? ""];
    assert.ok(compareVersions(before, after) < 0, `${before} < ${after}`);
    assert.ok(compareVersions(after, before) > 0, `${after} > ${before}`);
  }
});

test("a local part and missing zeros change nothing", () => {
  assert.equal(compareVersions("0.1", "0.1.0"), 0);
  assert.equal(compareVersions("0.1.0+g12ab", "0.1.0"), 0);
  assert.equal(compareVersions("v0.1.0", "0.1.0"), 0);
});

test("a server that says no version, or an unreadable one, is too old", () => {
  assert.ok(isTooOld(undefined));
  assert.ok(isTooOld("unknown"));
  assert.ok(isTooOld("0.0.1"));
  assert.ok(!isTooOld(MINIMUM));
  assert.ok(!isTooOld("99.0"));
});
