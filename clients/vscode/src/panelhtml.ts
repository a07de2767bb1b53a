/** The HTML of the side panel. All text from documents is escaped here. */

/** An LSP location. */
export interface Location {
  readonly uri: string;
  readonly range: {
    readonly start: { readonly line: number; readonly character: number };
    readonly end: { readonly line: number; readonly character: number };
  };
}

export interface Fix {
  readonly title: string;
  readonly preferred: boolean;
  /** The argument of `citewell.act`. */
  readonly act: { readonly uri: string };
}

/** One reference in the result of `citewell.documentReferences`. */
export interface Reference {
  readonly key: string;
  readonly state: string;
  readonly sign: string;
  readonly words: string;
  readonly title: string;
  readonly authors: string;
  readonly year: number | null;
  readonly venue: string;
  readonly defined: Location | null;
  readonly cited: readonly Location[];
  readonly citations: number;
  readonly problems: readonly { readonly code: string; readonly message: string; readonly level: string }[];
  readonly fixes: readonly Fix[];
}

export interface ReferenceList {
  readonly uri: string;
  readonly total: number;
  readonly references: readonly Reference[];
}

/** The states in the order of the filter buttons; the server sends the words. */
const STATES = [
  "fabricated",
  "not-in-venue",
  "undefined",
  "wrong-detail",
  "not-found",
  "unchecked",
  "marked",
  "verified",
];

/** States that need attention, which the server lists first; not-found is not one. */
const PROBLEMS = new Set(["fabricated", "not-in-venue", "undefined", "wrong-detail"]);
const SHOWN_PLACES = 8;
const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text escaped for an element or a quoted attribute. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

/** The page, with a content security policy that allows only its own style and script. */
export function page(cspSource: string, nonce: string, script: string, style: string): string {
  const policy = `default-src 'none'; style-src ${cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${escaped(style)}">
<title>References</title>
</head>
<body>
<div id="tools" role="search">
<input id="words" type="search" placeholder="Filter by key, title, author, problem" aria-label="Filter the references">
<div id="states" role="group" aria-label="Show only these states"></div>
</div>
<p id="summary" role="status"></p>
<ul id="list" aria-label="References"></ul>
<script nonce="${escaped(nonce)}" src="${escaped(script)}"></script>
</body>
</html>`;
}

/** The filter buttons with counts; states without references are omitted. */
export function stateButtons(references: readonly Reference[]): string {
  return STATES.map((state) => {
    const held = references.filter((one) => one.state === state);
    const first = held[0];
    if (!first) return "";
    const name = escaped(`${first.sign} ${first.words}`);
    return `<button type="button" class="state ${state}" data-state="${state}" aria-pressed="false">${name} <b>${held.length}</b></button>`;
  }).join("");
}

/** A one-line summary of the list, as plain text. */
export function summary(list: ReferenceList | undefined, message = ""): string {
  if (!list) return message || "Open a LaTeX, Markdown or .bib file to see its references.";
  if (list.total === 0) return "This document cites nothing yet.";
  const cut = list.total > list.references.length ? ` The first ${list.references.length} are shown.` : "";
  const wrong = list.references.filter((one) => PROBLEMS.has(one.state)).length;
  const problems = wrong > 0 ? ` ${wrong} with problems.` : "";
  return `${list.total} ${list.total === 1 ? "reference" : "references"}.${problems}${cut}`;
}

/** The list items. */
export function listItems(list: ReferenceList | undefined): string {
  return (list?.references ?? []).map(item).join("");
}

function item(one: Reference, index: number): string {
  const title = one.title || (one.defined ? one.key : "No entry in the bibliography");
  const where = [one.authors, one.year ?? "", one.venue].map(String).filter(Boolean).join(" · ");
  const words = [one.key, title, where, ...one.problems.map((problem) => problem.message)].join(" ");
  return (
    `<li class="reference ${escaped(one.state)}" data-index="${index}" data-state="${escaped(one.state)}" data-words="${escaped(words.toLowerCase())}">` +
    `<button type="button" class="head" data-go="${one.defined ? "entry" : "cited"}" data-place="0" title="${one.defined ? "Go to the entry" : "Go to the citation"}">` +
    `<span class="sign" aria-hidden="true">${escaped(one.sign)}</span><span class="title">${escaped(title)}</span></button>` +
    (where ? `<p class="where">${escaped(where)}</p>` : "") +
    `<p class="key"><code>${escaped(one.key)}</code> <span class="badge">${escaped(one.words)}</span></p>` +
    problems(one) +
    places(one) +
    fixes(one) +
    "</li>"
  );
}

function problems(one: Reference): string {
  if (one.problems.length === 0) return "";
  const lines = one.problems.map(({ level, message }) => {
    const [summary = "", ...evidence] = message.split("\n");
    const details = evidence.length > 0 ? `<p class="why">${escaped(evidence.join(" "))}</p>` : "";
    const words = escaped(summary).replace(/`([^`]+)`/g, "<code>$1</code>");
    return `<li class="${escaped(level)}">${words}${details}</li>`;
  });
  return `<ul class="problems">${lines.join("")}</ul>`;
}

function places(one: Reference): string {
  if (one.citations === 0) return '<p class="places">Not cited.</p>';
  const links = one.cited.slice(0, SHOWN_PLACES).map((place, number) => {
    const text = `${fileName(place.uri)}:${place.range.start.line + 1}`;
    return `<button type="button" class="link" data-go="cited" data-place="${number}">${escaped(text)}</button>`;
  });
  const more = one.citations - links.length;
  return `<p class="places">Cited: ${links.join(" ")}${more > 0 ? ` and ${more} more` : ""}</p>`;
}

function fileName(uri: string): string {
  const name = uri.slice(uri.search(/[^/:]*$/));
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function fixes(one: Reference): string {
  const buttons = one.fixes.map(
    (fix, number) =>
      `<button type="button" class="fix${fix.preferred ? " preferred" : ""}" data-fix="${number}">${escaped(fix.title)}</button>`,
  );
  if (one.state === "undefined" && one.cited.length > 0) {
    buttons.push(
      '<button type="button" class="fix" data-go="quickfix" data-place="0">Find the paper…</button>',
    );
  }
  return buttons.length > 0 ? `<p class="fixes">${buttons.join("")}</p>` : "";
}
