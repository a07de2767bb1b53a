// Elements are made here and nowhere else: text is set as text, never parsed.

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(9).filter((one) => one !== null && one !== undefined && one !== false));
  return node;
}

/** An HTML element with attributes, `on...` listeners and children; empty values are left out. */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

/** The same for SVG. */
export const svg = (tag, props, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);

/** Text from a record: its own direction must not turn the text around it. */
export const bdi = (text, props) => h("bdi", { dir: "auto", ...props }, text);

/** A message whose `names` in backticks are shown as code. */
export const prose = (text) => (text ?? "").split("`").map((part, n, all) => (n % 2 && n < all.length - 1 ? h("code", {}, part) : part));

export const $ = (id) => document.getElementById(id);

/** Report something to screen readers without moving the focus. */
export function announce(text) {
  $("status").textContent = text;
}

/** "1 paper", "2,000 papers". */
export const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

/** A link to an address outside; plain text if it is no web address. */
export function outside(url, text = url) {
  if (!/^https?:\/\/[^\s]+$/i.test(url)) return bdi(text);
  return h("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, bdi(text));
}

/** A button that shows and hides an element which is made when it is first shown, at the end of the
 * button's paper or in `place`. */
export function disclosure(label, make, props, place) {
  let panel = null;
  const button = h("button", { type: "button", class: "quiet", "aria-expanded": "false", ...props, onclick: toggle }, label);
  function toggle() {
    const shown = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(shown));
    if (panel === null) {
      panel = h("div", { class: "detail" });
      (place ?? button.closest(".paper") ?? button.parentElement).append(panel);
      make(panel);
    }
    panel.hidden = !shown;
  }
  return button;
}

export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Not in a secure context, such as another machine without TLS.
    const area = h("textarea", { class: "sr" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button?.focus();
  }
  announce("Copied.");
  if (!button) return;
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = label), 1500);
}

export const copyButton = (text, label = "Copy") =>
  h("button", { type: "button", onclick: (event) => copy(typeof text === "function" ? text() : text, event.currentTarget) }, label);

/** Save a text as a file of the browser's user. */
export function download(name, text, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export const downloadButton = (name, text, type, label = `Download ${name}`) =>
  h("button", { type: "button", onclick: () => download(name, typeof text === "function" ? text() : text, type) }, label);

/** Problems as the server reports them: what is wrong, and what to do. */
export const problems = (list, kind = "warn") =>
  list?.length
    ? h("div", { class: `notice ${kind} stack` }, list.map((one) =>
        h("p", {}, one.line ? `Line ${one.line}: ` : "", bdi(prose(one.message ?? one.detail)), " ", one.hint ? bdi(prose(one.hint)) : "")))
    : null;

/** A table in a region that scrolls: name and class of each column, then the rows, named by their first cells. */
export function table(label, columns, rows, kind = "") {
  const cells = (values, tag, scope) => values.map((value, n) => h(n ? tag : "th", { scope: n ? null : "row", class: columns[n][1], ...scope }, value));
  return h("div", { class: `scroll ${kind}`, tabindex: "0", role: "region", "aria-label": label },
    h("table", {}, h("thead", {}, h("tr", {}, cells(columns.map(([name]) => name), "th", { scope: "col" }))),
      h("tbody", {}, rows.map((row) => h("tr", {}, cells(row, "td"))))));
}
