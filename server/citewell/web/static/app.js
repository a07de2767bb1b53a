// Starts the page: shows the view that the address names.
import { ask, failed, takeToken } from "./api.js";
import { $, count } from "./dom.js";
import { bindKeys } from "./keys.js";
import { go, params, remember } from "./route.js";
import { onKept } from "./store.js";

const VIEWS = {
  search: ["Search", () => import("./search.js")],
  paper: ["Paper", () => import("./record.js")],
  passage: ["Passage", () => import("./passage.js")],
  check: ["Check", () => import("./check.js")],
  review: ["Review", () => import("./review.js")],
  map: ["Map", () => import("./map.js")],
  kept: ["Kept papers", () => import("./kept.js")],
  library: ["Library", () => import("./library.js")],
};
let leaving = new AbortController();
let broken = false;

async function show({ back = false } = {}) {
  leaving.abort();
  const { signal } = (leaving = new AbortController());
  const given = params();
  const name = VIEWS[given.get("view")] ? given.get("view") : "search";
  const [title, load] = VIEWS[name];
  for (const link of document.querySelectorAll("nav a"))
    link.dataset.view === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  document.title = `${title} · Citewell`;
  const main = $("main");
  broken = false;
  try {
    const view = await load();
    if (signal.aborted) return;
    main.replaceChildren();
    // Before the answer: later nothing may move what is being read.
    if (!back) scrollTo(0, 0);
    if (!back && given.size) main.focus({ preventScroll: true });
    await view.show(main, given, signal, () => back && scrollTo(0, history.state?.y ?? 0));
  } catch (error) {
    if (signal.aborted) return;
    broken = true;
    const shown = failed(error);
    if (error.status === 401) main.replaceChildren();
    if (shown) main.append(shown);
  }
}

async function describe() {
  const found = await ask("v1/status").catch(() => null);
  if (!found) return;
  const parts = [found.works ? `${count(found.works, "work")} in the library` : "no library", `Citewell ${found.version}`];
  $("library-line").textContent = parts.join(" · ");
}

takeToken();
history.scrollRestoration = "manual";
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='?']");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});
addEventListener("route", () => show());
addEventListener("popstate", () => show({ back: true }));
addEventListener("pagehide", remember);
addEventListener("server-back", () => {
  describe();
  if (broken) show({ back: true });
});
onKept((papers) => {
  $("kept-count").hidden = !papers.length;
  $("kept-count").textContent = papers.length;
});
bindKeys();
show({ back: true });
describe();
