// Single keys, none while a field has the focus, and none when they are switched off.
import { $ } from "./dom.js";
import { go } from "./route.js";

const OFF = "citewell-keys-off";
const FIELDS = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

function move(step) {
  const links = [...document.querySelectorAll(".paper :is(h2, h3) a")].filter((one) => one.checkVisibility());
  if (!links.length) return;
  const paper = document.activeElement.closest(".paper");
  const at = links.findIndex((one) => one.closest(".paper") === paper);
  const next = links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + step))];
  next.focus({ preventScroll: true });
  next.closest(".paper").scrollIntoView({ block: "nearest" });
}

function search() {
  const field = $("q");
  if (!field) return go("?");
  field.focus();
  field.select();
}

const ACTIONS = {
  "/": search,
  j: () => move(1),
  k: () => move(-1),
  x: () => document.activeElement.closest(".paper")?.querySelector("[data-keep]")?.click(),
  "?": () => $("help").showModal(),
};

export function bindKeys() {
  const on = $("keys-on");
  on.checked = localStorage.getItem(OFF) !== "1";
  on.addEventListener("change", () => localStorage.setItem(OFF, on.checked ? "0" : "1"));
  $("help-button").addEventListener("click", () => $("help").showModal());
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return event.target.closest("form")?.requestSubmit();
    // The empty search field has the focus from the beginning: whoever presses "/" wants to go there.
    if (event.key === "/" && on.checked && event.target.id === "q" && !event.target.value) return event.preventDefault();
    const act = ACTIONS[event.key];
    if (!act || !on.checked || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest(FIELDS) || $("help").open) return;
    event.preventDefault();
    act();
  });
}
