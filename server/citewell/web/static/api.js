// Requests to the JSON endpoints of the server that the page comes from.
import { $, announce, h, prose } from "./dom.js";

const TOKEN = "citewell-token";
const RETRIES = 5;
let gone = false;

/** Move a token from the address to this tab's storage. */
export function takeToken() {
  if (location.hash.length > 1) {
    sessionStorage.setItem(TOKEN, decodeURIComponent(location.hash.slice(1)));
    history.replaceState(history.state, "", location.pathname + location.search);
  }
}

export const setToken = (token) => sessionStorage.setItem(TOKEN, token);

/** A request that failed, in the server's words. */
export class Failure extends Error {
  constructor(problem, status = 0) {
    super(problem.detail ?? problem.message);
    this.code = problem.code;
    this.hint = problem.hint ?? "";
    this.status = status;
  }
}

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

async function send(path, body, { signal, lines } = {}) {
  const headers = { Accept: lines ? "application/jsonl" : "application/json" };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  for (let attempt = 0; ; attempt++) {
    let response;
    try {
      response = await fetch(path, { method: body ? "POST" : "GET", headers, signal, body: body && JSON.stringify(body) });
    } catch (error) {
      if (signal?.aborted) throw error;
      watch();
      throw new Failure({ code: "server-gone", message: "The server does not respond.", hint: "Start it again with `citewell serve`; the page continues then." });
    }
    if (response.ok) return response;
    const problem = await response.json().catch(() => ({ code: "", message: `The server responded with status ${response.status}.` }));
    // A library that is being replaced, or a server with too many requests.
    if ([429, 503].includes(response.status) && response.headers.has("retry-after") && problem.code !== "library-missing" && attempt < RETRIES) {
      announce("The library is not available at the moment; trying again.");
      await pause(Number(response.headers.get("retry-after")) || 1);
      if (signal?.aborted) throw new DOMException("", "AbortError");
      continue;
    }
    throw new Failure(problem, response.status);
  }
}

/** The answer of an endpoint; with a body by POST. Throws `Failure`. */
export const ask = async (path, body, options) => (await send(path, body, options)).json();

/** Each line of an answer in parts, as soon as it arrives. Throws `Failure`. */
export async function* askLines(path, body, options) {
  const response = await send(path, body, { ...options, lines: true });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      for (const part of parts) {
        const answer = JSON.parse(part);
        if (answer.type?.startsWith("/problems/")) throw new Failure(answer, answer.status);
        yield answer;
      }
    }
  } catch (error) {
    if (error instanceof Failure || options?.signal?.aborted) throw error;
    watch();
    throw new Failure({ code: "server-gone", message: "The connection was lost.", hint: "The search is repeated when the server responds again." });
  }
}

/** The path of a record: slashes of a DOI stay, everything else is escaped. */
export const recordPath = (id, query = "") => `v1/papers/${id.split("/").map(encodeURIComponent).join("/")}${query}`;

async function watch() {
  if (gone) return;
  gone = true;
  $("connection").hidden = false;
  $("connection").textContent = "The server does not respond. Start it again with `citewell serve`: the page continues by itself.";
  while (gone) {
    await pause(1);
    gone = !(await fetch("v1/health", { headers: { Authorization: `Bearer ${sessionStorage.getItem(TOKEN)}` } }).then((found) => found.status < 500, () => false));
  }
  $("connection").hidden = true;
  announce("The server responds again.");
  dispatchEvent(new Event("server-back"));
}

/** What to show in place of an answer. */
export function failed(error) {
  if (error.name === "AbortError") return null;
  if (error.status === 401) return tokenForm();
  if (!(error instanceof Failure)) throw error;
  return h("div", { class: "notice bad stack", role: "alert" }, h("p", {}, prose(error.message)), error.hint && h("p", {}, prose(error.hint)));
}

function tokenForm() {
  const field = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const submit = (event) => {
    event.preventDefault();
    setToken(field.value.trim());
    dispatchEvent(new Event("server-back"));
  };
  return h("form", { class: "panel stack", onsubmit: submit },
    h("h1", {}, "Token"),
    h("p", {}, h("label", { for: "token" }, "This server asks for its token. It stays in this tab.")),
    field, h("button", { class: "main" }, "Continue"));
}
