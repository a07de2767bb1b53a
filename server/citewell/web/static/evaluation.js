// The last reports of `citewell eval`, `tune` and `compare-models`, which open in a window of their own.
import { ask } from "./api.js";
import { bdi, copyButton, h, prose, table } from "./dom.js";

const COMMANDS = [
  ["How well Citewell finds the citations of your paper:", "citewell eval paper.tex --html report.html"],
  ["Better prompts for your language model:", "citewell tune paper.tex --html report.html"],
];

export async function show(main, given, signal, restore) {
  main.append(h("h1", {}, "Evaluation"));
  const { reports } = await ask("v1/reports", undefined, { signal });
  main.append(reports.length
    ? table("Reports", [["Report"], ["Command", "nowrap"], ["Written", "nowrap"]], reports.map((one) => [
        h("a", { href: one.address, target: "_blank", rel: "noopener" }, bdi(one.title)), one.kind, written(one.created)]))
    : h("p", { class: "muted" }, prose("There is no report yet. A command that writes one with `--html` also keeps it for this list.")),
  h("section", { class: "stack" }, h("h2", {}, "Write a report"), h("p", {}, "On the command line:"),
    COMMANDS.map(([what, command]) => [h("p", { class: "muted" }, what), h("div", { class: "row" }, h("code", {}, command), copyButton(command))])));
  restore();
}

const written = (created) => new Date(created).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
