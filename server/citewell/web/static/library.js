// What the library covers and which parts of the search work. Read only.
import { ask } from "./api.js";
import { bdi, copyButton, count, h, problems, svg, table } from "./dom.js";
import { address } from "./route.js";
import { noLibrary } from "./search.js";

const HEIGHT = 120;
const FIRST_YEARS = 60;

export async function show(main, given, signal, restore) {
  main.append(h("h1", {}, "Library"));
  const [found, pipeline] = await Promise.all(["v1/status", "v1/pipeline"].map((path) => ask(path, undefined, { signal })));
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
    h("p", {}, h("a", { href: address({ view: "map" }) }, "Map of the library")),
    picture(pipeline),
    (found.covers ?? []).map(coverage),
    h("section", { class: "stack" }, h("h2", {}, "Add papers"),
      h("p", {}, "This page changes no library. On the command line:"),
      ["citewell library add refs.bib", "citewell library fetch arxiv --category cs.CL", "citewell library coverage paper.tex"].map((one) =>
        h("div", { class: "row" }, h("code", {}, one), copyButton(one))))));
  restore();
}

const ms = (part) => (typeof part.milliseconds === "number" ? `${part.milliseconds.toLocaleString("en", { maximumFractionDigits: 1 })} ms` : "");

/** The steps of a search, drawn by the server, and the same as a table. */
function picture({ svg: drawn, retrievers, stages, sources, total }) {
  const parts = [...retrievers, ...stages, sources];
  return h("section", { class: "stack" }, h("h2", {}, "How a search is answered"),
    h("p", { class: "muted" }, typeof total === "number" ? "With the times of the last search." : "After a search, with the times of its parts."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Picture of a search" },
      h("img", { class: "natural", src: `data:image/svg+xml,${encodeURIComponent(drawn)}`, alt: `On: ${parts.filter((one) => one.is_on).map((one) => one.title).join(", ")}` })),
    h("details", { class: "small" }, h("summary", {}, "The steps and their times"),
      table("Steps of a search", [["Step", "nowrap"], ["State"], ["What"], ["Last search", "num"]],
        parts.map((one) => [one.title, one.is_on ? "on" : "off", bdi(one.detail), ms(one)]))));
}

function coverage(library) {
  const range = library.first ? `, ${library.first} to ${library.last}` : "";
  return h("section", { class: "stack" },
    h("h2", {}, bdi(library.name)), h("p", { class: "muted" }, `${count(library.works, "work")}${range}.`),
    library.fields ? fields(library) : null,
    Object.keys(library.years ?? {}).length ? years(library) : null,
    library.venues?.length ? venues(library) : null);
}

function fields(library) {
  return table(`References of theses in ${library.name}`, [["Field", "nowrap"], ["References of public theses that it holds", "num"]],
    Object.entries(library.fields).map(([field, share]) => [field, `${share}%`]));
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
      table("Works of each year", [["Year"], ["Works", "num"]], all.filter((one) => one[1]).reverse().map(([year, works]) => [String(year), works.toLocaleString("en")]), "table")));
}

function venues(library) {
  const most = Math.max(...library.venues.map((one) => one.works));
  const share = (works) => svg("svg", { class: "share", width: 60, height: 8, "aria-hidden": "true" }, svg("rect", { class: "bar", width: (60 * works) / most, height: 8 }));
  return table(`Venues of ${library.name}`, [["Largest venues", "nowrap"], ["Works", "num"], ["Years", "nowrap"], ["Years with few or none"]],
    library.venues.map((one) => [bdi(one.venue), [one.works.toLocaleString("en"), share(one.works)], `${one.first}–${one.last}`, one.missing?.join(", ") || "none"]));
}
