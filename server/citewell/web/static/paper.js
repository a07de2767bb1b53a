// One paper in a list: what it is, why it is there, and what can be done with it.
import { ask, failed, recordPath } from "./api.js";
import { announce, bdi, copyButton, disclosure, h, prose } from "./dom.js";
import { address } from "./route.js";
import { isKept, toggle } from "./store.js";
import { VERDICTS } from "./words.js";

const NAMED = { neurips: "NeurIPS", arxiv: "arXiv", corr: "CoRR" };
const MAX_AUTHORS = 6;
const FORMS = [
  ["APA", "reference", "apa"],
  ["MLA", "reference", "modern-language-association"],
  ["BibTeX", "bibtex", ""],
  ["CSL", "csl", ""],
];

/** A venue as people write it: "ICLR" for "iclr". */
export const venueName = (venue) => NAMED[venue] ?? (/^[a-z]{2,7}$/.test(venue) ? venue.toUpperCase() : venue);

/** An entry type as people say it. */
export const kindName = (kind) => ({ inproceedings: "conference paper", proceedings: "conference", incollection: "chapter", inbook: "chapter", phdthesis: "PhD thesis", mastersthesis: "master's thesis", techreport: "report", misc: "other" })[kind] ?? kind;

/** Names of the sources of a record. */
export const sourcesOf = (paper) => paper.origin ?? [];

export function authorsOf(paper) {
  const names = paper.authors ?? [];
  const shown = names.slice(0, MAX_AUTHORS).map((name, n) => [n ? ", " : "", bdi(name)]);
  return [shown, names.length > MAX_AUTHORS ? ` and ${names.length - MAX_AUTHORS} more` : ""];
}

/** Authors and year, by which authors know a paper. */
export const whoOf = (paper) => h("p", { class: "meta" }, paper.authors?.length ? h("span", { class: "authors clamp" }, authorsOf(paper), paper.year ? ` · ${paper.year}` : "") : paper.year && String(paper.year));

/** Venue and citations. */
export const metaOf = (paper) => h("p", { class: "meta" },
  [paper.venue && bdi(venueName(paper.venue)), paper.citations ? `cited ${paper.citations.toLocaleString("en")} ${paper.citations === 1 ? "time" : "times"}` : "",
    paper.retracted ? h("span", { class: "tag bad" }, "retracted") : ""].filter(Boolean).flatMap((part, n) => [n ? " · " : "", part]));

/** The texts of a paper to copy, in a panel. */
export function citeForms(panel, id) {
  const output = h("pre", { role: "group", tabindex: "0", "aria-label": "Formatted reference" });
  const buttons = FORMS.map(([label, form, style]) =>
    h("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: (event) => choose(event.currentTarget, form, style) }, label));
  const trouble = h("p", { class: "small muted", role: "status" });
  panel.append(h("div", { class: "row" }, buttons, copyButton(() => output.textContent)), trouble, output);
  async function choose(button, form, style) {
    try {
      const query = `?forms=${form}${style ? `&style=${style}` : ""}`;
      const record = await ask(recordPath(id, query));
      trouble.textContent = "";
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === button));
      output.textContent = form === "csl" ? JSON.stringify(record.csl, null, 2) : record[form];
      announce(`${button.textContent} is shown.`);
    } catch (error) {
      trouble.replaceChildren(`${button.textContent}: `, prose(error.message), " ", prose(error.hint));
    }
  }
  buttons[0].click();
}

async function abstractOf(panel, id) {
  panel.append(h("p", { class: "busy muted" }, "Loading"));
  try {
    const { abstract } = await ask(recordPath(id));
    panel.replaceChildren(abstract ? h("p", { dir: "auto", class: "isolate" }, abstract) : h("p", { class: "muted" }, "The library has no abstract of this paper."));
  } catch (error) {
    panel.replaceChildren(failed(error) ?? "");
  }
}

const RETRIEVERS = { citation_context: "how others cite it", exact_match: "exact words", bm25: "words", dense: "meaning", full_text: "full text" };
const plainly = (detail) => detail.replace(/\b([a-z][a-z_0-9]*) #(\d+)/g, (_, name, rank) => `${RETRIEVERS[name] ?? name} ${rank}.`);
const reason = (one) => h("li", {}, `${one.step}${one.rank ? `, rank ${one.rank}` : ""}: `, bdi(one.query), one.detail ? [" (", bdi(plainly(one.detail)), ")"] : "");

/** The button that keeps a paper, or drops it. */
export function keepButton(paper, props) {
  const label = (on) => (on ? "Kept" : "Keep");
  const button = h("button", { type: "button", class: "quiet", "data-keep": paper.id, "aria-pressed": String(isKept(paper.id)), ...props,
    onclick: () => {
      const on = toggle(paper);
      button.setAttribute("aria-pressed", String(on));
      button.textContent = label(on);
      button.closest(".paper")?.classList.toggle("kept", on);
      announce(on ? "Kept." : "No longer kept.");
    } }, label(isKept(paper.id)));
  return button;
}

/** A paper as a list item; `first` is a button before the others, `level` that of its heading. */
export function card(paper, { first = null, level = 2, note = null } = {}) {
  return h("li", { class: `paper${isKept(paper.id) ? " kept" : ""}`, "data-id": paper.id },
    whoOf(paper),
    h(`h${level}`, { dir: "auto" }, h("a", { href: address({ view: "paper", id: paper.id }) }, paper.title || "Untitled")),
    metaOf(paper),
    note,
    paper.reason && h("p", { class: "why clamp" }, bdi(paper.reason[0].toUpperCase() + paper.reason.slice(1))),
    h("div", { class: "actions" },
      first, keepButton(paper),
      paper.has_abstract && disclosure("Abstract", (panel) => abstractOf(panel, paper.id)),
      disclosure("Cite", (panel) => citeForms(panel, paper.id)),
      paper.reasons?.length ? disclosure("Why", (panel) => panel.append(h("ul", {}, paper.reasons.map(reason)))) : null));
}

/** The verdict of a checked reference in its colour, a note's if it has notes. */
export function tag(one) {
  const tone = one.marked ? "" : VERDICTS[one.verdict].tone;
  return h("span", { class: `tag ${tone === "good" && one.findings?.length ? "warn" : tone}` }, one.words);
}
