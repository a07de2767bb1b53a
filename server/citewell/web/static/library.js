// What the library covers and which parts of the search work. Read only.
import { ask } from "./api.js";
import { bdi, copyButton, count, h, problems, svg } from "./dom.js";
import { noLibrary } from "./search.js";

const HEIGHT = 120;
const FIRST_YEARS = 60;

export async function show(main, given, signal, restore) {
  main.append(h("h1", {}, "Library"));
  const found = await ask("v1/status", undefined, { signal });
  if (!found.ready) {
    main.append(noLibrary(found));
    return restore();
  }
  const parts = [
    ["Works", found.works.toLocaleString("en")],
    ["Retrievers", found.retrievers?.join(", ")],
    ["Encoder", found.encoder],
    ["Ranker", found.ranker],
    ["Cross-encoder", found.cross_encoder],
    ["Language model", found.llm || "none is configured"],
    ["Sources that may be asked", found.sources?.join(", ") || "none: nothing leaves this machine"],
    ["Snapshot", found.snapshot],
  ].filter(([, value]) => value);
  main.append(h("div", { class: "stack" },
    h("dl", { class: "facts panel" }, parts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, bdi(value))])),
    found.problems?.length ? h("section", { class: "stack" }, h("h2", {}, "Problems"), problems(found.problems)) : null,
    (found.covers ?? []).map(coverage),
    h("section", { class: "stack" }, h("h2", {}, "Add papers"),
      h("p", {}, "This page changes no library. On the command line:"),
      ["citewell library add refs.bib", "citewell library fetch arxiv --category cs.CL", "citewell library coverage paper.tex"].map((one) =>
        h("div", { class: "row" }, h("code", {}, one), copyButton(one))))));
  restore();
}

function coverage(library) {
  const range = library.first ? `, ${library.first} to ${library.last}` : "";
  return h("section", { class: "stack" },
    h("h2", {}, bdi(library.name)), h("p", { class: "muted" }, `${count(library.works, "work")}${range}.`),
    Object.keys(library.years ?? {}).length ? years(library) : null,
    library.venues?.length ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Venues of ${library.name}` }, venues(library.venues)) : null);
}

function years(library) {
  const last = library.last;
  const first = Math.max(library.first, last - FIRST_YEARS + 1);
  const all = Array.from({ length: last - first + 1 }, (_, n) => [first + n, library.years[first + n] ?? 0]);
  const most = Math.max(...all.map((one) => one[1]), 1);
  const before = Object.entries(library.years).filter(([year]) => year < first).reduce((sum, one) => sum + one[1], 0);
  const width = 100 / all.length;
  const bars = all.map(([year, works], n) => svg("rect", { x: `${n * width + width * 0.1}%`, width: `${width * 0.8}%`, y: HEIGHT - (works / most) * HEIGHT, height: (works / most) * HEIGHT, class: "bar" },
    svg("title", {}, `${year}: ${count(works, "work")}`)));
  return h("figure", { class: "chart" },
    svg("svg", { width: "100%", height: HEIGHT, role: "img", "aria-label": `Works of each year from ${first} to ${last}, at most ${most.toLocaleString("en")}` }, bars),
    h("div", { class: "axis" }, h("span", {}, String(first)), h("span", {}, `at most ${most.toLocaleString("en")} a year`), h("span", {}, String(last))),
    h("figcaption", { class: "small muted" }, "Works of each year", before ? `; ${count(before, "work")} before ${first}` : "", "."),
    h("details", { class: "small" }, h("summary", {}, "As a table"),
      h("div", { class: "scroll table", tabindex: "0", role: "region", "aria-label": "Works of each year" },
        h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Year"), h("th", { scope: "col", class: "num" }, "Works"))),
          h("tbody", {}, all.filter((one) => one[1]).reverse().map(([year, works]) => h("tr", {}, h("th", { scope: "row" }, String(year)), h("td", { class: "num" }, works.toLocaleString("en")))))))));
}

function venues(list) {
  const most = Math.max(...list.map((one) => one.works));
  return h("table", {}, h("caption", {}, "Largest venues"),
    h("thead", {}, h("tr", {}, ["Venue", "Works", "Years", "Years with few or none"].map((one, n) => h("th", { scope: "col", class: n === 1 ? "num" : "" }, one)))),
    h("tbody", {}, list.map((one) => h("tr", {}, h("th", { scope: "row", class: "nowrap" }, bdi(one.venue)),
      h("td", { class: "num" }, one.works.toLocaleString("en"), svg("svg", { class: "share", width: 60, height: 8, "aria-hidden": "true" }, svg("rect", { class: "bar", width: (60 * one.works) / most, height: 8 }))),
      h("td", { class: "nowrap" }, `${one.first}–${one.last}`), h("td", {}, one.missing?.join(", ") || "none")))));
}
