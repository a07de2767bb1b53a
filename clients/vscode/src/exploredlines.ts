/** The lines of a literature search in a quick pick. */

import * as vscode from "vscode";
import type { Item } from "./citing";
import { shorten, withoutSigns } from "./columns";
import { type ExploredRow, exploredColumns, type Part, type Verdict } from "./explored";

export const MAX_TITLE = 70;

export interface Line extends Item {
  readonly row?: ExploredRow;
  readonly part?: Part;
  /** The line that takes the rejections back. */
  readonly restores?: boolean;
}

export const KEEP: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("thumbsup"),
  tooltip: "Keep: this paper answers the question",
};
export const REJECT: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("thumbsdown"),
  tooltip: "Reject: this paper does not answer the question",
};

export const AGAIN: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("refresh"),
  tooltip: "Search again with the kept papers and without the rejected ones",
};
export const OVERVIEW: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("list-tree"),
  tooltip: "Show what the papers are about",
};
export const PREVIEW: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("open-preview"),
  tooltip: "Preview the selected paper beside the list",
};

export function paperLine(row: ExploredRow, verdict?: Verdict): Line {
  return { ...exploredColumns(row, verdict), row, buttons: [KEEP, REJECT], alwaysShow: true };
}

/** Takes the rejections back. */
export function restoringLine(rejected: number): Line {
  const papers = rejected === 1 ? "the rejected paper" : `the ${rejected} rejected papers`;
  return {
    label: `$(discard) List ${papers} again`,
    description: "searches again",
    restores: true,
    alwaysShow: true,
  };
}

/** Searches without a part of the question. */
export function partLine(part: Part): Line {
  return {
    label: `$(close) ${withoutSigns(`Without ${part.kind.replace("_", " ")}: ${part.value}`)}`,
    description: `search for “${shorten(part.rest, MAX_TITLE)}”`,
    part,
    alwaysShow: true,
  };
}
