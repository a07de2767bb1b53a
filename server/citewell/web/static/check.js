// A bibliography: is each reference real, and right? With the evidence, and what would correct it.
import { ask, failed } from "./api.js";
import { announce, bdi, copyButton, count, disclosure, downloadButton, h, outside, problems } from "./dom.js";
import { tag } from "./paper.js";
import { address } from "./route.js";
import { VERDICTS } from "./words.js";

const MAX_PDF = 8_900_000;
/** Nothing is stored: the references and their verdicts live as long as the window. */
const written = { text: "", pdf: "", name: "references.bib", found: null, before: [] };
const MEANT = 3;

export async function show(main, given, signal, restore) {
  const text = h("textarea", { id: "references", class: "code", spellcheck: "false", maxlength: 1_000_000, oninput: () => (written.text = text.value) });
  text.value = written.text;
  const file = h("input", { type: "file", id: "file", accept: ".bib,.bbl,.tex,.txt,.md,.pdf,text/*,application/pdf", onchange: () => read(file.files[0]) });
  const name = h("p", { class: "small", role: "status" }, written.pdf ? written.name : "");
  const online = h("input", { type: "checkbox" });
  const onlineLine = h("label", { class: "line", hidden: true }, online, h("span", {}));
  const button = h("button", { class: "main" }, "Check");
  const out = h("div", { class: "stack" });
  const drop = h("div", { class: "drop stack",
    ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
    ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); read(event.dataTransfer.files[0]); } },
    h("p", {}, h("label", { for: "references" }, "Paste BibTeX or a list of references, or drop a .bib, a text or a PDF here. "), h("label", { for: "file" }, "Or choose a file: "), file),
    name, text);

  async function read(chosen) {
    if (!chosen) return;
    const bytes = new Uint8Array(await chosen.arrayBuffer());
    const isPdf = String.fromCharCode(...bytes.subarray(0, 5)) === "%PDF-";
    if (isPdf && bytes.length > MAX_PDF) return void (name.textContent = `${chosen.name} is too large: use citewell check on the command line.`);
    written.name = chosen.name;
    written.pdf = isPdf ? base64(bytes) : "";
    written.before = [];
    text.value = isPdf ? "" : new TextDecoder().decode(bytes);
    name.textContent = isPdf ? `${chosen.name}: its reference list is checked.` : chosen.name;
    await run();
  }

  async function run(event) {
    event?.preventDefault();
    if (text.value.trim()) written.pdf = "";
    written.text = text.value;
    if (!written.text.trim() && !written.pdf) return text.focus();
    button.disabled = true;
    written.found = null;
    out.replaceChildren(h("p", { class: "busy muted" }, "Checking"));
    try {
      const source = written.pdf ? { pdf: written.pdf } : { text: written.text };
      const found = await ask("v1/check", { ...source, name: written.name, forms: ["fixes", "sarif", "html"], online: online.checked }, { signal });
      written.found = found;
      out.replaceChildren(...report(found, written.name, change));
      announce(`${count(found.references.length, "reference")} checked.`);
    } catch (error) {
      out.replaceChildren(failed(error) ?? "");
    } finally {
      button.disabled = false;
    }
  }

  /** Make changes of entries by key in the text, or take the last one back, and check it again. */
  async function change(changes) {
    try {
      if (changes) {
        const found = await ask("v1/check", { text: written.text, name: written.name, changes, online: online.checked }, { signal });
        written.before.push(written.text);
        text.value = found.texts[written.name];
      } else text.value = written.before.pop();
      await run();
    } catch (error) {
      out.prepend(failed(error) ?? "");
    }
  }

  main.append(h("h1", {}, "Check references"),
    h("form", { class: "stack", onsubmit: run }, drop, onlineLine, h("div", { class: "row" }, button)), out);
  if (written.found) out.append(...report(written.found, written.name, change));
  restore();
  const status = await ask("v1/status", undefined, { signal });
  onlineLine.hidden = !status.sources?.length;
  onlineLine.lastChild.textContent = `Also ask ${status.sources?.join(", ")}, which receive the references`;
}

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(text);
}

function report(found, name, change) {
  if (!found.references.length) return [problems(found.problems) ?? "", h("p", { class: "notice" }, "No reference was found in this text.")];
  const order = Object.keys(VERDICTS);
  const place = (one) => order.indexOf(one.verdict) - (one.findings?.length ? 0.5 : 0);
  const rows = [...found.references].sort((a, b) => place(a) - place(b)).map((one) => reference(one, change));
  const list = h("ol", { class: "papers references", "aria-label": "References" }, rows);
  const boxes = Object.entries(VERDICTS).filter(([verdict]) => found.counts[verdict]).map(([verdict, { label }]) => {
    const box = h("input", { type: "checkbox", checked: true, value: verdict, onchange: () => filter() });
    return h("label", { class: "line" }, box, `${label} (${found.counts[verdict]})`);
  });
  function filter() {
    const shown = new Set(boxes.map((one) => one.firstChild).filter((one) => one.checked).map((one) => one.value));
    for (const row of rows) row.hidden = !shown.has(row.dataset.verdict);
    announce(`${rows.filter((row) => !row.hidden).length} of ${rows.length} references are shown.`);
  }
  const stem = name.replace(/\.\w+$/, "");
  return [problems(found.problems) ?? "",
    h("div", { class: "toolbar" }, h("p", {}, count(rows.length, "reference")), h("fieldset", { class: "row bare" }, h("legend", { class: "sr" }, "Verdicts"), boxes),
      h("div", { class: "row small" },
        downloadButton(`${stem}.sarif`, () => JSON.stringify(found.sarif, null, 2), "application/json", "SARIF"),
        downloadButton(`${stem}.json`, () => JSON.stringify({ ...found, sarif: undefined, html: undefined }, null, 2), "application/json", "JSON"),
        downloadButton(`${stem}.html`, () => found.html, "text/html", "HTML"))),
    written.before.length ? h("section", { class: "panel stack", "aria-label": "Changes" }, h("p", {}, `${count(written.before.length, "change")} made in the text above. Your file is not changed.`),
      h("div", { class: "row" }, copyButton(() => written.text, "Copy the changed file"), downloadButton(name, () => written.text, "text/plain", `Download the changed ${name}`),
        h("button", { type: "button", onclick: () => change() }, "Undo the last change"))) : "",
    found.diff ? h("section", { class: "panel stack", "aria-label": "Corrections" }, h("h2", {}, "Corrections"),
      h("p", { class: "small muted" }, "What can be corrected without doubt. Your file is not changed."),
      diff(found.diff), h("div", { class: "row" }, copyButton(() => found.fixed, "Copy the corrected file"), downloadButton(name, () => found.fixed))) : "",
    list];
}

const diff = (text) => h("pre", { role: "group", class: "diff", tabindex: "0", "aria-label": "Diff" }, text.split("\n").map((line) => {
  const kind = /^(---|\+\+\+|@@)/.test(line) ? "muted" : line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "";
  return h("span", { class: `diffline ${kind}` }, `${line}\n`);
}));

function reference(one, change) {
  const place = [one.line && `line ${one.line}`, one.page && `page ${one.page}`].filter(Boolean).join(", ");
  return h("li", { class: "paper reference", "data-verdict": one.verdict },
    h("h2", { dir: "auto" }, bdi(one.reference), " ", tag(one)),
    h("p", { class: "meta" }, place),
    (one.findings ?? []).map((each) => h("div", { class: "finding" }, h("p", {}, h("strong", {}, each.field), ": ", bdi(each.message)),
      each.given && each.expected ? h("p", { class: "code" }, h("del", {}, bdi(each.given)), " → ", h("ins", {}, bdi(each.expected))) : null,
      each.url ? h("p", { class: "small" }, outside(each.url)) : null)),
    one.evidence?.length ? h("details", { class: "small" }, h("summary", {}, "Evidence"), h("ul", {}, one.evidence.map((text) => h("li", {}, bdi(text)))),
      one.sources?.length ? h("p", { class: "muted" }, `Asked: ${one.sources.join(", ")}`) : null) : null,
    one.record ? h("p", { class: "small" }, "Record: ", h("a", { href: address({ view: "paper", id: one.record.id }) }, bdi(one.record.title))) : null,
    one.changes?.length ? actions(one, change) : null);
}

const LABELS = { record: "Take the record", remove: "Remove", mark: "Mark as checked" };

/** Buttons that change the entry in the text, and the papers that may be meant. */
function actions(one, change) {
  const query = [one.title, one.authors?.length && one.title ? `author:"${one.authors[0]}"` : ""];
  return h("div", { class: "row small" },
    one.changes.includes("remove") && one.title ? disclosure("What was meant", (panel) => meant(panel, one, query, change)) : null,
    one.changes.map((name) => h("button", { type: "button", onclick: () => change({ [one.key]: name }) }, LABELS[name])));
}

/** The papers nearest to the title, and to title and first author. */
async function meant(panel, one, [title, author], change) {
  try {
    const answers = await Promise.all([title, author && `${title} ${author}`].filter(Boolean).map((query) => ask("v1/search", { query, k: MEANT })));
    const papers = new Map(answers.flatMap((each) => each.papers).map((paper) => [paper.id, paper]));
    panel.append(papers.size ? h("ul", {}, [...papers.values()].filter((paper) => paper.id !== one.record?.id).slice(0, MEANT).map((paper) => h("li", { class: "row" },
      h("a", { href: address({ view: "paper", id: paper.id }) }, bdi(paper.title)), paper.year ? ` (${paper.year}) ` : " ",
      h("button", { type: "button", onclick: () => change({ [one.key]: paper.id }) }, "Replace by it")))) : h("p", {}, "No paper was found."),
      h("a", { href: address({ q: title }) }, "Search for the title"));
  } catch (error) {
    panel.append(failed(error) ?? "");
  }
}
