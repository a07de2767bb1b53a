// The kept papers: as a list, as files, and as the start of a search.
import { ask } from "./api.js";
import { announce, count, downloadButton, h } from "./dom.js";
import { card } from "./paper.js";
import { address } from "./route.js";
import { kept, onKept, save } from "./store.js";

const AT_ONCE = 50;

export async function show(main, given, signal, restore) {
  const papers = kept();
  main.append(h("h1", {}, "Kept papers"));
  if (!papers.length) {
    main.append(h("p", { class: "muted" }, "Keep papers with the button below each, or with the key x. They stay in this browser."));
    return restore();
  }
  let ids = [];
  const line = h("p", { class: "muted" });
  const like = h("a", { class: "quiet-link" }, "More like these");
  const map = h("a", { class: "quiet-link" }, "Map");
  const out = h("div", { class: "stack" });
  const button = (label, form, make) => h("button", { type: "button", onclick: (event) => exported(event.currentTarget, form, make) }, label);
  async function exported(pressed, form, [name, type, join]) {
    pressed.disabled = true;
    try {
      const records = [];
      const unknown = [];
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        const found = await ask("v1/papers", { ids: ids.slice(at, at + AT_ONCE), forms: [form] }, { signal });
        records.push(...found.papers);
        unknown.push(...(found.unknown_ids ?? []));
      }
      const text = join(records);
      out.replaceChildren(h("div", { class: "row" }, downloadButton(name, text, type)),
        ...(unknown.length ? [h("p", { class: "notice warn" }, `The library no longer holds ${unknown.join(", ")}.`)] : []),
        h("pre", { role: "group", tabindex: "0", "aria-label": name }, text));
      announce(`${name} is ready.`);
    } finally {
      pressed.disabled = false;
    }
  }
  main.append(
    line,
    h("div", { class: "row toolbar" },
      h("div", { class: "row" },
        button("BibTeX", "bibtex", ["kept.bib", "application/x-bibtex", (records) => `${records.map((one) => one.bibtex.trim()).join("\n\n")}\n`]),
        button("CSL-JSON", "csl", ["kept.json", "application/json", (records) => `${JSON.stringify(records.map((one) => one.csl), null, 2)}\n`]),
        button("APA", "reference", ["kept.txt", "text/plain", (records) => `${records.map((one) => one.reference).join("\n\n")}\n`])),
      h("div", { class: "row" },
        like, map,
        h("button", { type: "button", class: "quiet", onclick: () => confirm("Drop all kept papers?") && (save([]), dispatchEvent(new Event("route"))) }, "Drop all"))),
    out,
    h("ol", { class: "papers" }, papers.map((one) => card(one))));
  onKept((now) => {
    ids = now.map((one) => one.id);
    line.textContent = `${count(ids.length, "paper")}, in this browser only.`;
    like.href = address({ like: ids });
    map.href = address({ view: "map", id: ids.slice(0, 60) });
    // A file of the former list would be wrong.
    out.replaceChildren();
  }, signal);
  restore();
}
