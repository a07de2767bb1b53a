// The script of the side panel: shows the references, filters them, and reports clicks.
(() => {
  const editor = acquireVsCodeApi();
  const words = document.getElementById("words");
  const states = document.getElementById("states");
  const summary = document.getElementById("summary");
  const list = document.getElementById("list");
  const saved = editor.getState() ?? { words: "", states: [] };
  const selectedStates = new Set(saved.states);
  let summaryText = "";
  words.value = saved.words;

  function filter() {
    const typed = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    // A selected state without references must not hide everything.
    const present = new Set([...states.children].map((button) => button.dataset.state));
    const chosen = [...selectedStates].filter((state) => present.has(state));
    let shown = 0;
    for (const item of list.children) {
      const fits =
        (chosen.length === 0 || chosen.includes(item.dataset.state)) &&
        typed.every((word) => item.dataset.words.includes(word));
      item.hidden = !fits;
      shown += fits;
    }
    for (const button of states.children) {
      button.setAttribute("aria-pressed", String(selectedStates.has(button.dataset.state)));
    }
    summary.textContent = shown < list.children.length ? `${summaryText} ${shown} shown.` : summaryText;
    editor.setState({ words: words.value, states: [...selectedStates] });
  }

  // The focused button, so that rewriting the list does not lose the focus.
  function focused() {
    const active = document.activeElement;
    const item = active?.closest?.("li.reference");
    if (!item) return undefined;
    return {
      key: item.querySelector("code").textContent,
      at: [...item.querySelectorAll("button")].indexOf(active),
    };
  }

  function refocus(place) {
    if (!place) return;
    const item = [...list.children].find((one) => one.querySelector("code").textContent === place.key);
    const buttons = item?.querySelectorAll("button") ?? [];
    (buttons[place.at] ?? buttons[0])?.focus();
  }

  addEventListener("message", ({ data }) => {
    if (data?.type !== "show") return;
    const place = focused();
    const top = document.scrollingElement.scrollTop;
    // Escaped by the extension; the page's policy runs no inline script.
    list.innerHTML = data.list;
    states.innerHTML = data.states;
    summaryText = data.summary;
    filter();
    document.scrollingElement.scrollTop = top;
    refocus(place);
  });

  words.addEventListener("input", filter);
  states.addEventListener("click", ({ target }) => {
    const state = target.closest("button")?.dataset.state;
    if (!state) return;
    if (!selectedStates.delete(state)) selectedStates.add(state);
    filter();
  });

  list.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    const item = target.closest("li.reference");
    if (!button || !item) return;
    const index = Number(item.dataset.index);
    if (button.dataset.fix !== undefined) {
      editor.postMessage({ type: "fix", index, fix: Number(button.dataset.fix) });
    } else if (button.dataset.go) {
      editor.postMessage({ type: "go", index, go: button.dataset.go, place: Number(button.dataset.place) });
    }
  });

  // Up and Down move between references; Tab moves within one.
  addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const heads = [...list.querySelectorAll("li.reference:not([hidden]) > .head")];
    const item = document.activeElement?.closest?.("li.reference");
    const at = item ? heads.findIndex((head) => head.parentElement === item) : -1;
    const next = event.key === "ArrowDown" ? at + 1 : at - 1;
    if (next < 0 && event.key === "ArrowUp") words.focus();
    else heads[Math.min(next, heads.length - 1)]?.focus();
    event.preventDefault();
  });

  editor.postMessage({ type: "ready" });
})();
