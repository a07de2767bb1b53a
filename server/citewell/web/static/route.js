// The address holds the state of the page.

/** The parameters of the address. */
export const params = () => new URLSearchParams(location.search);

/** The address of a view with parameters; empty ones are left out, lists are repeated. */
export function address(values) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") found.append(name, one);
  return `?${found}`;
}

/** Go to an address as if a link to it was followed. */
export function go(to) {
  remember();
  history.pushState({}, "", to);
  dispatchEvent(new Event("route"));
}

/** Change the address without showing the view again. */
export function note(to) {
  remember();
  history.pushState({}, "", to);
}

/** Keep where the reader is, for the way back. */
export function remember() {
  history.replaceState({ ...history.state, y: scrollY }, "");
}
