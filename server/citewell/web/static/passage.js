// A passage: where citations belong, papers for each place, and the passage with its bibliography.
import { ask, failed } from "./api.js";
import { announce, bdi, copyButton, count, downloadButton, h, problems } from "./dom.js";
import { card } from "./paper.js";

const MARK = "[CITATION]";
const FRONT = "---\nbibliography: references.bib\n---\n\n";
const EXAMPLE = `Neighbours in a graph can be weighed by attention ${MARK}. Very deep networks are trained with residual connections ${MARK}.`;
/** Nothing is stored: the passage and what is chosen for it live as long as the window. */
const written = { text: "", bib: "", markup: "auto" };
let searched = null;

export async function show(main, given, signal, restore) {
  const text = h("textarea", { id: "passage", spellcheck: "true", maxlength: 100_000, required: true, placeholder: EXAMPLE });
  text.value = written.text;
  const bib = h("textarea", { id: "bib", class: "code", spellcheck: "false" });
  bib.value = written.bib;
  const markup = h("select", { id: "markup" }, [["auto", "by its text"], ["latex", "LaTeX"], ["markdown", "Markdown"]].map(([value, label]) => h("option", { value, selected: value === written.markup }, label)));
  const model = h("input", { type: "checkbox" });
  const modelLine = h("label", { class: "line", hidden: true }, model, "Let the language model choose");
  const out = h("div", { class: "stack" });
  const button = h("button", { class: "main" }, "Find citations");
  const remember = () => Object.assign(written, { text: text.value, bib: bib.value, markup: markup.value });
  const submit = async (event) => {
    event.preventDefault();
    remember();
    button.disabled = true;
    searched = null;
    out.replaceChildren(h("p", { class: "busy muted" }, "Searching"));
    try {
      searched = await search({ ...written, choose: model.checked }, signal);
      announce(count(searched.found.places.length, "place"));
      places(out, searched, signal);
    } catch (error) {
      out.replaceChildren(failed(error) ?? "");
    } finally {
      button.disabled = false;
    }
  };
  main.append(h("h1", {}, "Cite in a passage"),
    h("form", { class: "stack passage", onsubmit: submit, oninput: remember },
      h("p", { class: "muted" }, h("label", { for: "passage" }, "Paste a passage in LaTeX or Markdown. "), "Placeholders such as ", h("code", {}, MARK), ", ", h("code", {}, "\\cite{?}"), " or ", h("code", {}, "[@?words]"), " mark the places; without any, each sentence is looked at. Nothing is stored."),
      text,
      h("details", {}, h("summary", {}, "Your bibliography and options"),
        h("div", { class: "stack" }, h("label", { for: "bib" }, "The paper's .bib: its keys are used, and its papers tell what yours is about."), bib,
          h("div", { class: "row" }, h("label", { for: "markup" }, "Format"), markup), modelLine)),
      h("div", { class: "row" }, button,
        h("button", { type: "button", class: "quiet", onclick: () => { text.value = EXAMPLE; remember(); text.focus(); } }, "Example"))),
    out);
  if (searched) places(out, searched, signal);
  restore();
  const status = await ask("v1/status", undefined, { signal });
  modelLine.hidden = !status.llm;
  model.checked = Boolean(status.llm);
}

/** The places of a passage with their papers; `chosen` has the id of the paper for each place. */
async function search(given, signal) {
  const open = await ask("v1/places", { text: given.text, markup: given.markup }, { signal });
  const letters = [...given.text];
  const marked = open.placeholders ? [] : open.places;
  const text = open.placeholders ? given.text : withMarks(letters, marked.map((one) => one.at));
  const found = await ask("v1/find", { text, markup: given.markup, k: 5, bib: given.bib, choose: given.choose }, { signal });
  return { given, open, letters, marked, found, chosen: found.places.map(() => null) };
}

function places(out, { given, open, letters, marked, found, chosen }, signal) {
  const result = h("section", { class: "stack panel result", "aria-label": "Passage with citations" });
  const sections = found.places.map((place, n) => section(place, n, found.places.length, marked[n], chosen[n], (id) => {
    chosen[n] = id;
    write();
  }));
  let newest = 0;

  async function write() {
    const own = ++newest;
    const accepted = chosen.map((id, n) => [id, n]).filter(([id]) => id);
    if (!accepted.length) return result.replaceChildren(h("p", { class: "muted" }, "Choose papers: the passage and its entries appear here."));
    const source = open.placeholders ? given.text : withMarks(letters, accepted.map(([, n]) => marked[n].at));
    const choices = open.placeholders
      ? Object.fromEntries(chosen.map((id, n) => [n + 1, id ?? ""]))
      : Object.fromEntries(accepted.map(([id], n) => [n + 1, id]));
    const path = given.markup === "auto" ? "" : given.markup === "latex" ? "paper.tex" : "paper.md";
    try {
      const filled = await ask("v1/fill", { text: source, path, files: { "references.bib": given.bib }, choices, texts: true }, { signal });
      if (own === newest) draw(filled);
    } catch (error) {
      if (own === newest) result.replaceChildren(failed(error) ?? "");
    }
  }

  function draw(filled) {
    const name = Object.keys(filled.texts).find((one) => !one.endsWith(".bib"));
    let cited = filled.texts[name] ?? given.text;
    if (!given.text.startsWith("---") && cited.startsWith(FRONT)) cited = cited.slice(FRONT.length);
    const bib = filled.texts["references.bib"] ?? given.bib;
    const box = (title, content, file) => [h("h2", {}, title), h("div", { class: "row" }, copyButton(content, `Copy ${title.toLowerCase()}`), downloadButton(file, content)),
      h("pre", { role: "group", tabindex: "0", "aria-label": title }, content)];
    result.replaceChildren(...box("Passage", cited, name ?? "paper.md"), ...box("Bibliography", bib, "references.bib"),
      problems(filled.problems?.filter((one) => one.code !== "bib-undeclared")) ?? "");
    announce("The passage and its bibliography are updated.");
  }

  if (!sections.length) out.replaceChildren(problems(found.problems) ?? h("p", { class: "notice" }, "No place for a citation was found. Mark one with [CITATION]."));
  else out.replaceChildren(problems(found.problems) ?? "", h("div", { class: "split wide-left" }, h("div", { class: "stack" }, sections), result));
  write();
}

/** The text with a marker at each offset. */
function withMarks(letters, offsets) {
  let from = 0;
  const parts = offsets.map((at) => {
    const part = `${letters.slice(from, at).join("")} ${MARK}`;
    from = at;
    return part;
  });
  return parts.join("") + letters.slice(from).join("");
}

function section(place, n, total, mark, cited, choose) {
  const [before, ...after] = place.sentence.split(MARK);
  const buttons = [];
  const papers = place.papers.map((paper, rank) => {
    const button = h("button", { type: "button", class: "accept", "aria-pressed": String(paper.id === cited), "aria-label": `Cite here: ${paper.title}`.slice(0, 200), onclick: () => press(button, paper.id) }, paper.id === cited ? "Cited here" : "Cite here");
    buttons.push(button);
    const judged = paper.certainty ? paper : rank === 0 ? place : {};
    const note = !judged.certainty ? null
      : h("p", { class: "why" }, h("span", { class: `tag ${paper.id === place.pick ? "good" : ""}` }, `${judged.certainty}, ${Math.round(judged.confidence * 100)}%`), paper.key ? [" key ", h("code", {}, bdi(paper.key)), " in your .bib"] : "");
    return card(paper, { level: 3, first: button, note });
  });
  function press(button, id) {
    const on = button.getAttribute("aria-pressed") !== "true";
    for (const one of buttons) {
      one.setAttribute("aria-pressed", String(one === button && on));
      one.textContent = one === button && on ? "Cited here" : "Cite here";
    }
    choose(on ? id : null);
  }
  const shown = h("ol", { class: "papers" }, papers);
  return h("section", { class: "place stack" },
    h("h2", { class: "small muted" }, `Place ${n + 1} of ${total}`, mark?.likely ? [" ", h("span", { class: "tag warn" }, "seldom without a citation")] : ""),
    h("p", { class: "quote", dir: "auto" }, before, h("mark", {}, "citation"), after.join("")),
    mark && !mark.likely && papers.length && place.certainty === "a guess" ? h("p", { class: "muted" }, "This sentence probably needs no citation.") : null,
    place.chosen ? h("p", { class: "small" }, bdi(place.chosen)) : null,
    papers.length ? shown : h("p", { class: "muted" }, "The library holds no paper for this place."));
}
