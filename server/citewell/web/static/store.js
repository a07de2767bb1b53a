// The papers that the reader kept, in this browser.
const NAME = "citewell-kept";
const FIELDS = ["id", "source", "origin", "title", "authors", "year", "venue", "kind", "doi", "arxiv", "url", "citations", "has_abstract"];
const listeners = [];

export function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(NAME));
    return Array.isArray(found) ? found.filter((one) => typeof one?.id === "string" && typeof one.title === "string") : [];
  } catch {
    return [];
  }
}

export const isKept = (id) => kept().some((one) => one.id === id);

/** Keep a paper, or drop it; true if it is kept now. */
export function toggle(paper) {
  const others = kept().filter((one) => one.id !== paper.id);
  const added = others.length === kept().length;
  save(added ? [...others, Object.fromEntries(FIELDS.filter((name) => name in paper).map((name) => [name, paper[name]]))] : others);
  return added;
}

export function save(papers) {
  localStorage.setItem(NAME, JSON.stringify(papers));
  for (const one of [...listeners]) one(papers);
}

/** Call a function with the kept papers, now and after each change, in another tab too, until the signal. */
export function onKept(listener, signal) {
  listeners.push(listener);
  signal?.addEventListener("abort", () => listeners.splice(listeners.indexOf(listener), 1));
  listener(kept());
}
addEventListener("storage", (event) => {
  if (event.key === NAME) for (const one of [...listeners]) one(kept());
});
