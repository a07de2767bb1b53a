// Renders openapi.json. Texts become text nodes, never markup.

const TOKEN = "citewell-token";

/** An element with attributes and children; strings become text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** The request's headers with the token, if there is one. */
function withToken(headers = {}) {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { ...headers, Authorization: `Bearer ${token}` } : headers;
}

/** The schema that a `$ref` names; another schema is returned as it is. */
function resolved(schema, document_) {
  const name = schema?.$ref?.split("/").pop();
  return name ? { ...document_.components.schemas[name], name } : schema;
}

/** A schema's type in a few words: "string", "list of Paper". */
function kindOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map(kindOf).filter((one) => one !== "null").join(" or ");
  if (schema.type === "array") return `list of ${kindOf(schema.items) || schema.prefixItems?.map(kindOf).join(", ") || "anything"}`;
  if (schema.additionalProperties?.type) return `object of ${kindOf(schema.additionalProperties)}`;
  return schema.type ?? "anything";
}

/** The limits and the default of a field. */
function limitsOf(schema) {
  const names = { minimum: "at least", maximum: "at most", minLength: "characters at least", maxLength: "characters at most", minItems: "items at least", maxItems: "items at most" };
  const found = Object.entries(names).filter(([key]) => schema[key] !== undefined).map(([key, words]) => `${words} ${schema[key]}`);
  const shown = schema.default;
  const isEmpty = shown === undefined || shown === null || shown === "" || (Array.isArray(shown) && !shown.length);
  if (!isEmpty) found.push(`default ${JSON.stringify(shown)}`);
  return found.join(", ");
}

/** The fields of an object as a table. */
function fieldTable(fields, required) {
  const rows = fields.map(([name, schema]) =>
    make("tr", {},
      make("td", {}, make("code", {}, name), required.includes(name) ? " (required)" : ""),
      make("td", {}, kindOf(schema)),
      make("td", {}, [schema.description, limitsOf(schema)].filter(Boolean).join(" ")),
    ),
  );
  const head = make("tr", {}, ...["Field", "Type", "Description"].map((one) => make("th", { scope: "col" }, one)));
  return make("div", { class: "scroll", tabindex: "0" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

/** An example of the fields that a request must have. */
function exampleOf(schema, document_) {
  const fields = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name));
  const chosen = fields.length ? fields : Object.entries(schema.properties ?? {}).slice(0, 1);
  const valueOf = (one) => {
    const found = resolved(one, document_);
    if (found.type === "array") return [valueOf(found.items ?? { type: "string" })];
    if (found.type === "integer" || found.type === "number") return found.minimum ?? 1;
    if (found.type === "boolean") return true;
    if (found.type === "object") return exampleOf(found, document_);
    return "attention is all you need";
  };
  return Object.fromEntries(chosen.map(([name, one]) => [name, valueOf(one)]));
}

/** A form that sends one request and shows its answer. */
function tryForm(id, method, path, operation, request, document_) {
  const answer = make("pre", { tabindex: "0", hidden: "", "aria-label": "Answer" });
  const form = make("form", {});
  const inputs = new Map();
  let body;
  if (request) {
    body = make("textarea", { id: `${id}-body`, spellcheck: "false" });
    body.value = JSON.stringify(exampleOf(request, document_), null, 2);
    form.append(make("label", { for: body.id }, "JSON body"), body);
  } else {
    const shown = (operation.parameters ?? []).filter((one) => one.required || one.name === "query");
    for (const one of shown) {
      const input = make("input", { id: `${id}-${one.name}`, ...(one.required ? { required: "" } : {}) });
      inputs.set(one, input);
      form.append(make("label", { for: input.id }, one.name), input);
    }
  }
  form.append(make("button", {}, "Send"), answer);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let address = path;
    const query = new URLSearchParams();
    for (const [one, input] of inputs) {
      if (one.in === "path") address = address.replace(`{${one.name}}`, input.value.split("/").map(encodeURIComponent).join("/"));
      else if (input.value) query.set(one.name, input.value);
    }
    answer.hidden = false;
    answer.textContent = "…";
    try {
      const found = await fetch(`${address.slice(1)}${query.size ? `?${query}` : ""}`, {
        method,
        headers: withToken(body ? { "Content-Type": "application/json" } : {}),
        body: body?.value,
      });
      const text = await found.text();
      let shown = text;
      try {
        shown = JSON.stringify(JSON.parse(text), null, 2);
      } catch {
        // Not JSON: shown as it is.
      }
      answer.textContent = `${found.status} ${found.statusText}\n${shown}`;
    } catch (error) {
      answer.textContent = `The server did not answer: ${error.message}`;
    }
  });
  return form;
}

/** One operation, closed until a reader opens it. */
function operationView(method, path, operation, document_) {
  const id = operation.operationId;
  const summary = make("summary", {}, make("span", { class: "method" }, method), " ", make("span", { class: "path" }, path), make("br"), make("span", { class: "quiet" }, operation.summary));
  const view = make("details", { id }, summary);
  view.addEventListener("toggle", () => {
    if (view.childElementCount > 1) return;
    const request = resolved(operation.requestBody?.content["application/json"].schema, document_);
    const answer = resolved(operation.responses["200"].content["application/json"].schema, document_);
    const body = make("div", { class: "body" }, make("p", {}, operation.description));
    if (request) body.append(make("h2", {}, "Request"), fieldTable(Object.entries(request.properties ?? {}), request.required ?? []));
    if (operation.parameters?.length) {
      const fields = operation.parameters.map((one) => [one.name, one.schema]);
      body.append(make("h2", {}, "Parameters"), fieldTable(fields, operation.parameters.filter((one) => one.required).map((one) => one.name)));
    }
    body.append(make("h2", {}, `Answer (${Object.keys(operation.responses["200"].content).join(", ")})`), fieldTable(Object.entries(answer.properties ?? {}), answer.required ?? []));
    body.append(make("h2", {}, "Try it"), tryForm(id, method, path, operation, request, document_));
    view.append(body);
  });
  return view;
}

/** The parts of an answer that have a name of their own. */
function schemaView(name, schema) {
  const view = make("details", { id: `schema-${name}` }, make("summary", { class: "path" }, name));
  const body = make("div", { class: "body" });
  if (schema.description) body.append(make("p", {}, schema.description));
  if (schema.properties) body.append(fieldTable(Object.entries(schema.properties), schema.required ?? []));
  else body.append(make("p", {}, kindOf(schema)));
  view.append(body);
  return view;
}

async function load() {
  const status = document.getElementById("status");
  const place = document.getElementById("operations");
  const found = await fetch("openapi.json", { headers: withToken() });
  document.getElementById("access").hidden = found.status !== 401;
  if (!found.ok) {
    status.textContent = found.status === 401 ? "This server needs its token." : `The server answered ${found.status}.`;
    return;
  }
  const document_ = await found.json();
  document.getElementById("about").textContent = `${document_.info.description} Version ${document_.info.version}.`;
  const operations = Object.entries(document_.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationView(method.toUpperCase(), path, operation, document_)),
  );
  const schemas = Object.entries(document_.components.schemas).map(([name, schema]) => schemaView(name, schema));
  place.replaceChildren(...operations, make("h2", {}, "Schemas"), ...schemas);
  status.textContent = `${operations.length} requests`;
  const chosen = document.getElementById(location.hash.slice(1));
  if (chosen instanceof HTMLDetailsElement) chosen.open = true;
}

document.getElementById("access").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, document.getElementById("token").value);
  void load();
});
await load().catch((error) => {
  document.getElementById("status").textContent = `The server did not answer: ${error.message}`;
});
