// A whole paper: what is wrong with its citations, by part, each finding with the comment that silences it.
import { ask, failed } from "./api.js";
import { announce, bdi, copyButton, count, h, problems, prose } from "./dom.js";
import { PAPER_SUFFIXES, PARTS, SUFFIXES } from "./words.js";

const MAX_FILES = 200;
const MAX_TEXT = 1_000_000;
const HIDDEN = /(^|\/)\./;
const UNFIT = /[\\:\n<>"|?*]/;
const MAIN = /^[^%\n]*\\(documentclass|begin\s*\{document\})/m;
const TONES = { blocking: "bad", "to correct": "warn" };
/** Nothing is stored: the paper and its review live as long as the window. `files` reads the chosen files again. */
const chosen = { files: null, texts: {}, left: [], mains: [], main: "", found: null, silenced: new Set() };

/** Names a finding in this review and in the next one of the same text. */
const idOf = (one) => `${one.fingerprint} ${one.line}:${one.column}`;
const ends = (name, suffixes) => suffixes.some((one) => name.toLowerCase().endsWith(one));

export async function show(main, given, signal, restore) {
  const folder = h("input", { type: "file", id: "folder", webkitdirectory: true, multiple: true,
    onchange: () => { const list = [...folder.files]; if (list.length) choose(async () => list.map((one) => [one.webkitRelativePath || one.name, one])); } });
  const names = h("p", { class: "small", role: "status" });
  const left = h("ul", { class: "notice warn small", "aria-label": "Files left out", hidden: true });
  const mains = h("select", { id: "main-file", onchange: () => { chosen.main = mains.value; run(); } });
  const mainLine = h("p", { hidden: true }, h("label", { for: "main-file" }, "Main file "), mains);
  const online = h("input", { type: "checkbox" });
  const onlineLine = h("label", { class: "line", hidden: true }, online, h("span", {}));
  const button = h("button", { class: "main" }, "Review");
  const out = h("div", { class: "stack" });
  const drop = h("div", { class: "drop stack",
    ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
    ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      const dropped = [...event.dataTransfer.files].map((one) => [one.name, one]);
      const entries = [...event.dataTransfer.items].map((one) => one.webkitGetAsEntry?.()).filter(Boolean);
      choose(async () => (entries.length ? (await Promise.all(entries.map((one) => filesIn(one)))).flat() : dropped));
    } },
    h("p", {}, h("label", { for: "folder" }, "Choose the folder of a paper, or drop it here: "), folder), names, left, mainLine);

  function describe() {
    const all = Object.keys(chosen.texts);
    names.textContent = all.length ? `${count(all.length, "file")}: ${all.slice(0, 6).join(", ")}${all.length > 6 ? ", …" : ""}` : "";
    left.hidden = !chosen.left.length;
    left.replaceChildren(...chosen.left.map(([reason, files]) => h("li", {}, `${reason}: `, bdi(files.slice(0, 6).join(", ")), files.length > 6 ? ` and ${files.length - 6} more` : "")));
    mains.replaceChildren(...chosen.mains.map((one) => h("option", { value: one }, one)));
    mains.value = chosen.main;
    mainLine.hidden = chosen.mains.length < 2;
    button.textContent = chosen.found ? "Review again" : "Review";
    out.replaceChildren(...(chosen.found ? report(chosen.found) : []));
  }

  async function choose(files) {
    Object.assign(chosen, { files, main: "", found: null, silenced: new Set() });
    await run();
  }

  async function run(event) {
    event?.preventDefault();
    if (!chosen.files) return folder.focus();
    button.disabled = true;
    out.replaceChildren(h("p", { class: "busy muted" }, "Reviewing"));
    try {
      [chosen.texts, chosen.left] = await texts(await chosen.files());
      chosen.mains = mainFiles(chosen.texts);
      if (!chosen.mains.includes(chosen.main)) chosen.main = chosen.mains[0] ?? "";
      chosen.found = null;
      if (chosen.main) {
        const { [chosen.main]: text, ...files } = chosen.texts;
        chosen.found = await ask("v1/review", { text, path: chosen.main, files, online: online.checked }, { signal });
        announce(`${count(chosen.found.findings.length, "finding")}.`);
      }
      describe();
      if (!chosen.main) out.replaceChildren(h("p", { class: "notice warn", role: "alert" }, `No paper was found: no file ends in ${PAPER_SUFFIXES.join(", ")}.`));
    } catch (error) {
      const stale = ["NotReadableError", "NotFoundError"].includes(error.name);
      out.replaceChildren(stale ? h("p", { class: "notice warn", role: "alert" }, "A file changed on disk since it was chosen. Choose the folder again.") : (failed(error) ?? ""));
    } finally {
      button.disabled = false;
    }
  }

  main.append(h("h1", {}, "Review a paper"),
    h("form", { class: "stack", onsubmit: run }, drop, onlineLine, h("div", { class: "row" }, button)), out);
  describe();
  restore();
  const status = await ask("v1/status", undefined, { signal });
  onlineLine.hidden = !status.sources?.length;
  onlineLine.lastChild.textContent = `Also ask ${status.sources?.join(", ")}, which receive the references`;
}

/** The files of a dropped folder, or the dropped file, with their paths. */
async function filesIn(entry) {
  if (entry.isFile) return [[entry.fullPath.slice(1), await new Promise((done, no) => entry.file(done, no))]];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((done, no) => reader.readEntries(done, no));
    if (!some.length) return found;
    for (const one of some) if (!one.name.startsWith(".")) found.push(...(await filesIn(one)));
  }
}

/** The texts of a paper's files by name below their common folder, and the names of those left out by reason. */
async function texts(files) {
  const top = files[0]?.[0].split("/")[0] ?? "";
  const below = files.length && files.every(([name]) => name.startsWith(`${top}/`)) ? top.length + 1 : 0;
  const all = files.map(([name, file]) => [name.slice(below), file]).filter(([name]) => !HIDDEN.test(name) && ends(name, SUFFIXES));
  const unfit = all.filter(([name]) => UNFIT.test(name));
  const large = all.filter(([, file]) => file.size > MAX_TEXT);
  const fit = all.filter((one) => !unfit.includes(one) && !large.includes(one));
  // Where a folder has more, data in JSON and the like is left out first.
  fit.sort(([a], [b]) => SUFFIXES.findIndex((one) => ends(a, [one])) - SUFFIXES.findIndex((one) => ends(b, [one])) || (a < b ? -1 : 1));
  const left = Object.entries({
    "Left out, larger than 1 MB": large,
    [`Left out, beyond ${MAX_FILES} files`]: fit.slice(MAX_FILES),
    "Left out, for their names": unfit,
  }).filter(([, some]) => some.length).map(([reason, some]) => [reason, some.map(([name]) => name)]);
  return [Object.fromEntries(await Promise.all(fit.slice(0, MAX_FILES).map(async ([name, file]) => [name, await file.text()]))), left];
}

/** The files that may be the main one, the likeliest first: near the top, then long. */
function mainFiles(texts) {
  const papers = Object.keys(texts).filter((name) => ends(name, PAPER_SUFFIXES));
  const whole = papers.filter((name) => MAIN.test(texts[name]));
  const depth = (name) => name.split("/").length;
  return (whole.length ? whole : papers).sort((a, b) => depth(a) - depth(b) || texts[b].length - texts[a].length);
}

function report(found) {
  const weights = Object.entries(found.counts).map(([weight, n]) => `${n} ${weight}`);
  const groups = Object.entries(PARTS).map(([part, title]) => group(title, found.findings.filter((one) => one.part === part)));
  return [problems(found.problems) ?? "", h("div", { class: "toolbar" }, h("p", {}, weights.join(", ") || "No findings")), ...groups.filter(Boolean)];
}

function group(title, findings) {
  if (!findings.length) return null;
  const heading = h("h2", {});
  const name = () => (heading.textContent = `${title} (${findings.filter((one) => !chosen.silenced.has(idOf(one))).length})`);
  name();
  return h("section", { class: "stack", "aria-label": title }, heading, h("ul", { class: "papers" }, findings.map((one) => row(one, name))));
}

/** A finding; silenced, the comment that belongs into the paper takes its place. */
function row(one, changed) {
  const place = `${one.path}:${one.line}`;
  const shown = h("div", {},
    h("p", { class: "meta" }, bdi(place), " ", h("code", {}, one.code), " ", h("span", { class: `tag ${TONES[one.weight] ?? ""}` }, one.weight)),
    h("p", { class: "finding" }, bdi(one.message)), one.hint ? h("p", { class: "small muted" }, bdi(prose(one.hint))) : null,
    h("div", { class: "actions" }, h("button", { type: "button", class: "quiet", "aria-label": `Silence ${one.code} at ${place}`, onclick: () => silence(true) }, "Silence")));
  const comment = h("div", { class: "small", role: "group", "aria-label": `Comment for ${place}` },
    h("p", {}, whereTo(one), bdi(place), ": ", h("code", {}, one.silence)),
    h("div", { class: "row" }, copyButton(one.silence, "Copy the comment"), h("button", { type: "button", onclick: () => silence(false) }, "Show the finding again")));
  function display() {
    shown.hidden = chosen.silenced.has(idOf(one));
    comment.hidden = !shown.hidden;
  }
  function silence(on) {
    chosen.silenced[on ? "add" : "delete"](idOf(one));
    display();
    changed();
    (on ? comment : shown).querySelector("button").focus();
  }
  display();
  return h("li", { class: "paper" }, shown, comment);
}

function whereTo(one) {
  if (one.silence.includes("ignore-file")) return "Paste anywhere into the file of ";
  if (one.silence.startsWith("<")) return "Paste at the end of the line ";
  return one.path.toLowerCase().endsWith(".bib") ? "Paste on a line of its own above the entry at " : "Paste on a line of its own above ";
}
