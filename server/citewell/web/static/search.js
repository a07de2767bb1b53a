// Search: a question, what was understood of it, the papers, and boxes to narrow them.
import { ask, askLines, failed } from "./api.js";
import { announce, bdi, copyButton, count, disclosure, h, problems } from "./dom.js";
import { card, kindName, sourcesOf, venueName } from "./paper.js";
import { address, go, note, params } from "./route.js";

const EXAMPLES = ["attention for machine translation since 2017", "survey of graph neural networks", "papers by Kaiming He at CVPR"];
const ORDERS = { auto: "best first", relevance: "by relevance only", recent: "recent first", cited: "most cited first" };
const FACETS = {
  year: ["Year", (paper) => [paper.year ? String(paper.year) : "unknown"]],
  venue: ["Venue", (paper) => [paper.venue ? venueName(paper.venue) : "unknown"]],
  kind: ["Kind", (paper) => [paper.kind || "misc"]],
  source: ["Source", sourcesOf],
};
const SHOWN = 8;
const REMEMBERED = 20;
/** Lists that were made, by their request: the way back shows them as they were. */
const made = new Map();

export async function show(main, given, signal, restore) {
  const query = given.get("q") ?? "";
  const like = given.getAll("like");
  const form = searchForm(given);
  if (!query.trim() && !like.length) {
    main.append(h("div", { class: "intro" },
      h("h1", {}, "Find papers to cite"),
      h("p", { class: "muted" }, "Ask in your own words. Authors, venues and years are understood. Every result is a record of your library."),
      form,
      h("ul", { class: "examples", "aria-label": "Examples" }, EXAMPLES.map((one) => h("li", {}, h("a", { href: address({ q: one }) }, one))))));
    main.querySelector("#q").focus({ preventScroll: true });
    const status = await ask("v1/status", undefined, { signal });
    if (!status.ready) main.append(noLibrary(status));
    restore();
    return;
  }
  document.title = `${query || "More like the kept papers"} · Citewell`;
  const heading = h("h1", { class: "sr" }, `Papers for “${query || "the kept papers"}”`);
  const view = results(given);
  main.append(heading, form, view.chips, view.body);
  await view.run(signal, restore);
}

/** What to do when there is no library. */
export function noLibrary(status) {
  const command = "pip install ./corpus_tools/starter";
  return h("section", { class: "panel stack" },
    h("h2", {}, "There is no library yet"),
    problems(status.problems),
    h("p", {}, "Install the starter library of 360,000 works in your clone of Citewell:"),
    h("div", { class: "row" }, h("code", {}, command), copyButton(command)),
    h("p", {}, "Or add your own papers with ", h("code", {}, "citewell library add FILE..."), "; then search again."));
}

function searchForm(given) {
  const field = h("input", { type: "search", id: "q", name: "q", value: given.get("q"), "aria-label": "Search for papers", placeholder: "Topic, title, author, venue, year …", autocomplete: "off", spellcheck: "false", maxlength: 2000 });
  const submit = (event) => {
    event.preventDefault();
    const kept = Object.fromEntries(["order", "weights", "from", "to", "sources", "model"].map((name) => [name, given.get(name)]));
    go(address({ q: field.value.trim(), ...kept }));
  };
  return h("form", { class: "searchbar", role: "search", onsubmit: submit }, field, h("button", { class: "main" }, "Search"));
}

function results(given) {
  const request = {
    query: given.get("q") ?? "", kept: given.getAll("like").slice(0, 200), order: given.get("order") ?? "auto", k: 50, online: given.get("sources") !== "no", choose: given.get("model") !== "no",
    ...(given.get("weights") && { weights: given.get("weights") }),
    ...(given.get("from") && { year_from: Number(given.get("from")) }),
    ...(given.get("to") && { year_to: Number(given.get("to")) }),
  };
  const key = JSON.stringify(request);
  const list = h("ol", { class: "papers", "aria-label": "Papers" });
  const line = h("p", {});
  const later = h("p", { class: "small" });
  const facets = h("details", { class: "facets", open: innerWidth > 800 });
  const chips = h("ul", { class: "chips", "aria-label": "Understood" });
  const trouble = h("div", { class: "stack" });
  const order = h("select", { "aria-label": "Order", onchange: () => go(address({ ...plain(), order: order.value === "auto" ? "" : order.value })) },
    Object.entries(ORDERS).map(([value, label]) => h("option", { value, selected: value === request.order }, label)));
  const known = new Map((given.get("weights") ?? "").split(",").map((one) => one.split("=")));
  const weights = h("details", { class: "line" }, h("summary", {}, "Weights"), Object.entries({ relevance: 1, authority: 0, recent: 0 }).map(([name, usual]) =>
    h("label", { class: "line" }, name, h("input", { type: "range", min: 0, max: 1, step: 0.1, name, value: known.get(name) ?? usual, onchange: weigh }))));
  function weigh() {
    const set = [...weights.querySelectorAll("input")].map((one) => `${one.name}=${one.value}`).join(",");
    go(address({ ...plain(), weights: /[1-9]/.test(set) && set !== "relevance=1,authority=0,recent=0" ? set : "" }));
  }
  const part = (name, label, checked) => h("label", { class: "line", hidden: true },
    h("input", { type: "checkbox", checked, onchange: (event) => go(address({ ...plain(), [name]: event.target.checked ? "" : "no" })) }), label);
  const sourcesLine = part("sources", "Ask sources", request.online);
  const modelLine = part("model", "Ask the language model", request.choose);
  const themes = h("div", { class: "themes" });
  const overview = disclosure("Overview", (panel) => survey(panel, request), { hidden: true }, themes);
  const map = h("a", { class: "quiet-link", hidden: true }, "Map");
  const body = h("div", { class: "results" },
    h("section", { "aria-label": "Results" }, h("div", { class: "toolbar" }, line, h("div", { class: "row" }, sourcesLine, modelLine, order, weights, overview, map)), themes, trouble, list, later),
    facets);
  let papers = [];
  let answer = null;
  let below = 0;
  let ticked = chosen(given);
  const rows = new Map();

  /** The parameters of this list, with the boxes as they are ticked now. */
  const plain = () => Object.fromEntries([...new Set([...given.keys(), ...Object.keys(FACETS)])].map((name) => [name, ticked[name] ? [...ticked[name]] : given.getAll(name)]));

  /** Papers that are not listed yet go to the end: nothing moves that may be being read. */
  function take(found) {
    answer = found;
    const known = new Set(papers.map((one) => one.id));
    const added = found.papers.filter((one) => !known.has(one.id));
    const first = !papers.length;
    papers = [...papers, ...added];
    for (const one of added) rows.set(one.id, card(one));
    list.append(...added.map((one) => rows.get(one.id)));
    if (!first) below += added.length;
    if (added.length && !first) announce(`${count(added.length, "more paper")} below.`);
    else if (first) announce(count(papers.length, "paper"));
    draw();
  }

  function sort() {
    below = 0;
    const place = new Map(answer.papers.map((one, n) => [one.id, n]));
    papers = [...papers].sort((a, b) => (place.get(a.id) ?? 1e6) - (place.get(b.id) ?? 1e6));
    list.append(...papers.map((one) => rows.get(one.id)));
    draw();
  }

  function draw() {
    const shown = papers.filter((paper) => Object.entries(ticked).every(([name, values]) => !values.size || FACETS[name][1](paper).some((one) => values.has(one))));
    const visible = new Set(shown.map((one) => one.id));
    for (const [id, row] of rows) row.hidden = !visible.has(id);
    const done = answer.ending !== "" && answer.ending !== undefined;
    line.className = done ? "" : "busy";
    line.textContent = shown.length === papers.length ? count(papers.length, "paper") : `${shown.length} of ${count(papers.length, "paper")}`;
    const more = answer.passes?.at(-1)?.cut ?? 0;
    if (more) line.textContent += ` of ${(papers.length + more).toLocaleString("en")} found`;
    if (below) line.textContent += ` · ${count(below, "more paper")} added below`;
    const sorted = answer.papers.every((one, n) => papers[n]?.id === one.id);
    later.replaceChildren(...(done && !sorted ? ["Papers that were found later are at the end. ", h("button", { type: "button", class: "quiet", onclick: sort }, "Sort all")] : []));
    trouble.replaceChildren(...[problems(answer.problems), done && !papers.length ? nothing(request.query) : null].filter(Boolean));
    map.hidden = overview.hidden = !shown.length;
    map.href = address({ view: "map", id: shown.slice(0, 40).map((one) => one.id) });
    drawChips();
    drawFacets();
  }

  function drawChips() {
    const letters = [...request.query];
    const parts = (answer.understood ?? []).filter((one) => one.kind !== "topic");
    const field = answer.field ? [h("li", { class: "muted" }, `field: ${answer.field}`)] : [];
    chips.replaceChildren(...field, ...parts.map((one) => {
      const rest = [...letters.slice(0, one.start), ...letters.slice(one.end)].join("").replace(/\s+/g, " ").trim();
      return h("li", { class: "chip" }, h("span", {}, `${one.kind}: `, bdi(partName(one))),
        h("button", { type: "button", "aria-label": `Remove ${one.kind} ${partName(one)}`, onclick: () => go(address({ ...plain(), q: rest })) }, "×"));
    }));
  }

  function drawFacets() {
    const active = document.activeElement?.dataset?.facet;
    const year = (name, label) => h("input", { type: "number", min: 1000, max: 2999, placeholder: label, "aria-label": `Year ${label}`, value: given.get(name), "data-facet": name,
      onchange: (event) => go(address({ ...plain(), [name]: event.target.value })) });
    const groups = Object.entries(FACETS).map(([name, [label, of]]) => {
      const counts = new Map();
      for (const paper of papers) for (const value of of(paper)) counts.set(value, (counts.get(value) ?? 0) + 1);
      const values = [...counts].sort(name === "year" ? (a, b) => b[0].localeCompare(a[0]) : (a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
      const box = ([value, n]) => h("label", {},
        h("input", { type: "checkbox", checked: ticked[name].has(value), "data-facet": `${name}=${value}`, onchange: (event) => tick(name, value, event.target.checked) }),
        bdi(name === "kind" ? kindName(value) : value, { class: "clamp" }), h("span", {}, String(n)));
      const more = values.slice(SHOWN);
      return h("fieldset", {}, h("legend", {}, label), name === "year" && h("div", { class: "years" }, year("from", "from"), "–", year("to", "to")),
        values.slice(0, SHOWN).map(box),
        more.length ? h("details", { open: more.some(([value]) => ticked[name].has(value)) }, h("summary", { class: "small" }, `${more.length} more`), more.map(box)) : null);
    });
    facets.replaceChildren(h("summary", {}, "Narrow the list"), ...groups);
    if (active) [...facets.querySelectorAll("input")].find((one) => one.dataset.facet === active)?.focus();
  }

  function tick(name, value, on) {
    on ? ticked[name].add(value) : ticked[name].delete(value);
    note(address(plain()));
    announce(`${papers.length} papers, narrowed.`);
    draw();
  }

  async function run(signal, restore) {
    ask("v1/status", undefined, { signal }).then((found) => {
      sourcesLine.hidden = !found.sources?.length;
      modelLine.hidden = !found.explores;
    }, () => {});
    const before = made.get(key);
    if (before) {
      take(before.papers ? { ...before.answer, papers: before.papers } : before.answer);
      answer = before.answer;
      draw();
      return restore();
    }
    line.textContent = "Searching";
    line.className = "busy";
    try {
      for await (const found of askLines("v1/explore", request, { signal })) {
        if (signal.aborted) return;
        take(found);
      }
      made.set(key, { papers, answer });
      if (made.size > REMEMBERED) made.delete(made.keys().next().value);
      restore();
    } catch (error) {
      if (signal.aborted) return;
      line.textContent = "";
      line.className = "";
      if (error.code === "library-missing") {
        const status = await ask("v1/status", undefined, { signal }).catch(() => ({}));
        return trouble.append(noLibrary(status));
      }
      if (error.status === 401 || error.code === "server-gone") throw error;
      trouble.append(failed(error) ?? "");
    }
  }
  return { chips, body, run };
}

/** What the papers are about: themes with whole sentences of abstracts, and the model's text. */
async function survey(panel, request) {
  panel.append(h("p", { class: "busy muted" }, "Reading"));
  try {
    const { overview, papers } = await ask("v1/explore", { ...request, overview: true });
    const titles = new Map(papers.map((one) => [one.id, one.title]));
    const cited = (one) => h("p", { class: "small" }, bdi(one.text), one.ids.map((id) => [" ", h("a", { href: address({ view: "paper", id }) }, bdi(titles.get(id) ?? id))]));
    const { themes = [], summary } = overview ?? {};
    panel.replaceChildren(h("div", { class: "stack panel" },
      summary?.sentences?.length ? [h("h2", {}, `By ${summary.model}`), summary.sentences.map(cited)] : "",
      themes.map((one) => [h("h2", {}, bdi(one.words.join(", ")), ` (${one.ids.length})`), (one.sentences ?? []).map(cited)]),
      themes.length ? "" : h("p", {}, "Too few papers for an overview.")));
  } catch (error) {
    panel.replaceChildren(failed(error) ?? "");
  }
}

/** A part of the question as people say it: "since 2017" for "2017-". */
const partName = ({ kind, value }) => (kind === "year" ? value.replace(/^(\d+)-$/, "since $1").replace(/^-(\d+)$/, "until $1") : value);

const chosen = (given) => Object.fromEntries(Object.keys(FACETS).map((name) => [name, new Set(given.getAll(name))]));

function nothing(query) {
  return h("div", { class: "stack panel" }, h("h2", {}, "No paper found"),
    h("p", {}, `The library holds nothing for “${query}”. Use fewer or other words, or see what the `, h("a", { href: "?view=library" }, "library covers"), "."));
}
