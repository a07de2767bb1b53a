// A map of papers: left to right by year, papers that are alike near each other, beside the same list.
import "./vendor/d3-dispatch.min.js";
import "./vendor/d3-quadtree.min.js";
import "./vendor/d3-timer.min.js";
import "./vendor/d3-force.min.js";
import { ask } from "./api.js";
import { bdi, count, h, problems, svg } from "./dom.js";
import { card } from "./paper.js";
import { address } from "./route.js";

const { forceSimulation, forceLink, forceManyBody, forceY, forceCollide } = globalThis.d3;
const [WIDTH, HEIGHT, EDGE] = [900, 600, 56];
const STEPS = 200;
const GROUPS = 8;
const LABEL = 20;

export async function show(main, given, signal, restore) {
  const ids = given.getAll("id").slice(0, 60);
  if (!ids.length) {
    main.append(h("h1", {}, "Map of the library"), h("p", { class: "notice" }, "For a map of a list, ", h("a", { href: "?" }, "search first"), ", then choose Map."), h("p", { class: "busy muted" }, "Drawing"));
    const whole = await ask("v1/library-map", undefined, { signal });
    main.lastChild.remove();
    const titles = (papers) => papers.map(([paper, more]) => h("li", {}, h("a", { href: address({ view: "paper", id: paper.id }) }, bdi(paper.title)), ` ${paper.year ?? ""}${more}`));
    main.append(h("p", { class: "muted" }, whole.summary ?? "The library is empty."), problems(whole.problems) ?? "", h("div", { class: "panel map scroll", tabindex: "0", role: "region", "aria-label": "Map" }, whole.picture ? h("img", { class: "natural", src: `data:image/svg+xml,${encodeURIComponent(whole.picture)}`, alt: "Works by year and community" }) : null),
      ...(whole.communities ?? []).map((one) => h("section", {}, h("h2", {}, `${one.words.join(", ")} (${count(one.works, "work")})`), h("ol", {}, titles(one.key_papers.map((paper) => [paper, ""]))))),
      h("section", {}, h("h2", {}, "Gaps"), whole.gaps?.length ? h("ul", {}, titles(whole.gaps.map((one) => [one.paper, `, cited by ${one.cited_by} of yours, not held`]))) : h("p", {}, "None known.")));
    return restore();
  }
  main.append(h("h1", {}, "Map"), h("p", { class: "busy muted" }, "Drawing"));
  const found = await ask("v1/map", { ids, k: Math.max(ids.length, 30) }, { signal });
  main.lastChild.remove();
  const nodes = layout(found);
  const rows = new Map(found.papers.map((paper) => [paper.id, card(paper)]));
  const cites = found.links.filter((one) => !one.likeness).length;
  main.append(
    h("p", { class: "muted" }, `${count(found.papers.length, "paper")}, ${count(cites, "citation")} among them. From left to right by year; papers that share citations or content are near each other. Larger: cited more often here.`),
    problems(found.problems) ?? "",
    h("div", { class: "split wide-left" },
      h("div", { class: "stack" },
        h("div", { class: "panel map scroll", tabindex: "0", role: "region", "aria-label": "Map" }, draw(nodes, found.links, rows)),
        h("p", { class: "small muted" }, h("span", { class: "key cites" }), " cites  ", h("span", { class: "key alike" }), " cited by or citing the same papers. The same papers are in the list.")),
      h("ol", { class: "papers maplist", "aria-label": "Papers of the map" }, [...rows.values()])));
  restore();
}

/** The nodes with their places: x is the year, y follows from links and groups. */
function layout({ papers, links }) {
  // Each year that occurs has as much room: most papers of a field are of a few recent years.
  const years = [...new Set(papers.map((one) => one.year).filter(Boolean))].sort();
  const degree = new Map();
  for (const one of links) for (const id of one.likeness ? [] : [one.second]) degree.set(id, (degree.get(id) ?? 0) + 1);
  const across = (year) => EDGE + Math.max(0, years.indexOf(year)) / Math.max(1, years.length - 1) * (WIDTH - 2 * EDGE);
  const down = (group) => EDGE + (((group < 0 ? 0 : group) % GROUPS) + 0.5) / GROUPS * (HEIGHT - 2 * EDGE);
  const nodes = papers.map((paper, n) => ({ paper, r: 6 + 2 * Math.sqrt(degree.get(paper.id) ?? 0), fx: across(paper.year) + ((n % 3) - 1) * 9, y: down(paper.group ?? -1) + (n % 5) * 9 }));
  const place = new Map(nodes.map((one) => [one.paper.id, one]));
  forceSimulation(nodes).stop()
    .force("link", forceLink(links.map((one) => ({ source: place.get(one.first), target: place.get(one.second), weight: one.likeness || 0.25 }))).distance(30).strength((one) => 0.3 * one.weight))
    .force("y", forceY((one) => down(one.paper.group ?? -1)).strength(0.06))
    .force("apart", forceManyBody().strength(-60))
    .force("size", forceCollide((one) => one.r + 7).strength(1))
    .tick(STEPS);
  const [top, bottom] = [Math.min(...nodes.map((one) => one.y)), Math.max(...nodes.map((one) => one.y))];
  for (const one of nodes) one.y = bottom > top ? EDGE / 2 + (one.y - top) / (bottom - top) * (HEIGHT - 2 * EDGE) : HEIGHT / 2;
  nodes.sort((a, b) => b.r - a.r);
  return Object.assign(nodes, { years, across });
}

function draw(nodes, links, rows) {
  const place = new Map(nodes.map((one) => [one.paper.id, one]));
  const title = (id) => place.get(id).paper.title;
  const lines = links.map((one) => {
    const [a, b] = [place.get(one.first), place.get(one.second)];
    const words = one.likeness ? `“${a.paper.title}” and “${b.paper.title}” share ${Math.round(one.likeness * 100)}% of their citations` : `“${title(one.first)}” cites “${title(one.second)}”`;
    return svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: one.likeness ? "alike" : "cites", "data-ends": `${one.first} ${one.second}` }, svg("title", {}, words));
  });
  const light = (id, on) => {
    rows.get(id).classList.toggle("lit", on);
    for (const line of lines) if (line.dataset.ends.split(" ").includes(id)) line.classList.toggle("lit", on);
  };
  const step = Math.ceil(nodes.years.length / 12);
  const years = nodes.years.filter((_, n) => n % step === 0);
  const taken = [];
  const circles = nodes.map((one) => {
    const { paper } = one;
    const surname = (paper.authors?.[0] ?? paper.title).split(" ").at(-1);
    const text = `${surname.slice(0, LABEL)} ${paper.year ?? ""}`.trim();
    const name = `${text}: ${paper.title}`.slice(0, 300);
    // A label that would cover another one is left out; the link has its name anyway.
    const box = { x: one.x, y: one.y - one.r, half: text.length * 3 };
    const free = !nodes.some((other) => other !== one && Math.abs(other.y - box.y + 4) < other.r + 5 && Math.abs(other.x - box.x) < box.half + other.r)
      && !taken.some((other) => Math.abs(other.y - box.y) < 12 && Math.abs(other.x - box.x) < box.half + other.half);
    if (free) taken.push(box);
    const links = { "focus": true, "blur": false, "mouseenter": true, "mouseleave": false };
    return svg("a", { href: address({ view: "paper", id: paper.id }), "aria-label": name, class: `node g${(paper.group ?? -1) % GROUPS}${paper.given ? " given" : ""}`,
      ...Object.fromEntries(Object.entries(links).map(([name, on]) => [`on${name}`, () => light(paper.id, on)])) },
      svg("title", {}, name),
      svg("circle", { cx: one.x, cy: one.y, r: one.r }),
      free && svg("text", { x: one.x, y: one.y - one.r - 4, "text-anchor": one.x > WIDTH - 70 ? "end" : "middle" }, text));
  });
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `Map of ${count(nodes.length, "paper")} by year` },
    svg("g", { "aria-hidden": "true", class: "years" }, years.map((year) => [
      svg("line", { x1: nodes.across(year), x2: nodes.across(year), y1: 0, y2: HEIGHT - 24 }),
      svg("text", { x: nodes.across(year), y: HEIGHT - 8, "text-anchor": "middle" }, String(year))])),
    lines, circles);
}
