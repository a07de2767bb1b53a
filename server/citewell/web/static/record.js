// One paper: its record with its origin, and its neighbours in the citation graph.
import { ask, failed, recordPath } from "./api.js";
import { bdi, count, h, outside, problems } from "./dom.js";
import { card, citeForms, keepButton, kindName, metaOf, sourcesOf, tag, whoOf } from "./paper.js";
import { address } from "./route.js";

const BESIDE = { cites: "Cites", cited_by: "Cited by", cocited: "Cited together with" };
const NEIGHBOURS = 12;

export async function show(main, given, signal, restore) {
  const id = given.get("id") ?? "";
  const record = await ask(recordPath(id, "?forms=bibtex"), undefined, { signal });
  document.title = `${record.title} · Citewell`;
  const cite = h("section", { class: "stack" }, h("h2", {}, "Cite"));
  const verdict = h("section", { class: "stack" }, h("h2", {}, "Check"), h("p", { class: "busy muted" }, "Checking"));
  const beside = Object.entries(BESIDE).map(([direction, label]) => [direction, label, h("section", { class: "stack" }, h("h2", {}, label), h("p", { class: "busy muted" }, "Loading"))]);
  main.append(h("article", { class: "split wide-left" },
    h("div", { class: "stack" },
      h("h1", { dir: "auto", class: "isolate" }, record.title), whoOf(record), metaOf(record),
      h("div", { class: "actions" }, keepButton(record), h("a", { class: "quiet-link", href: address({ like: id }) }, "More like this"),
        h("a", { class: "quiet-link", href: address({ view: "map", id }) }, "Map")),
      record.abstract ? h("p", { dir: "auto", class: "isolate" }, record.abstract) : h("p", { class: "muted" }, "The library has no abstract of this paper."),
      beside.map((one) => one[2])),
    h("aside", { class: "stack panel" }, h("h2", {}, "Record"), facts(record), cite, verdict)));
  citeForms(cite, id);
  restore();
  const load = async ([direction, , section]) => {
    const found = await ask("v1/related", { ids: [id], directions: [direction], k: NEIGHBOURS }, { signal });
    section.lastChild.remove();
    if (!found.papers.length)
      return section.append(h("p", { class: "muted small" }, found.status === "not_known" ? "No citation of this paper is known, which is not the same as none." : "None in the library."));
    section.append(h("ol", { class: "papers" }, found.papers.map((one) => card(one, { level: 3, note: together(one) }))));
    if (found.total > found.papers.length) section.append(h("p", { class: "muted small" }, `The first ${found.papers.length} of ${found.total}.`));
    if (found.problems) section.append(problems(found.problems));
  };
  const check = async () => {
    const found = await ask("v1/check", { entries: [record.bibtex] }, { signal });
    const [one] = found.references;
    verdict.lastChild.remove();
    if (!one) return verdict.append(h("p", { class: "muted" }, "Nothing to check."));
    verdict.append(h("p", {}, tag(one)),
      h("ul", { class: "small muted" }, [...(one.findings ?? []).map((each) => each.message), ...(one.evidence ?? [])].map((text) => h("li", {}, bdi(text)))));
  };
  const guarded = async (work, section) => {
    try {
      await work();
    } catch (error) {
      if (error.name !== "AbortError") section.append(failed(error) ?? "");
    }
  };
  await Promise.all([...beside.map((one) => guarded(() => load(one), one[2])), guarded(check, verdict)]);
  restore();
}

const together = (paper) => {
  const link = paper.links?.find((one) => one.direction === "cocited");
  return link ? h("p", { class: "why" }, `by ${count(link.together ?? 1, "paper")}`) : null;
};

function facts(record) {
  const rows = [
    ["Id", bdi(record.id, { class: "code" })],
    record.doi && ["DOI", outside(`https://doi.org/${encodeURI(record.doi)}`, record.doi)],
    record.arxiv && ["arXiv", outside(`https://arxiv.org/abs/${encodeURI(record.arxiv)}`, record.arxiv)],
    record.url && ["Page", outside(record.url)],
    record.kind && ["Kind", kindName(record.kind)],
    record.keywords?.length && ["Keywords", h("ul", {}, record.keywords.map((one) => h("li", {}, h("a", { href: address({ q: `keyword:"${one}"` }) }, bdi(one)))))],
    ["Origin", bdi(sourcesOf(record).join(", "))],
    ["Records", h("ul", { class: "code" }, record.source.split("; ").map((one) => h("li", {}, bdi(one))))],
  ].filter(Boolean);
  return h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}
