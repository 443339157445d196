// The tasks of a DAG, with links to their configuration.

import { element } from "./dom.js";

// Return the list. dag is the id of the DAG.
export function tasksOf({ rows, dag }) {
  if (!rows.length) return element("p", { class: "empty" }, "The DAG has no tasks.");
  const head = ["Task", "Operator", "Configured"].map((title) => element("th", { scope: "col" }, title));
  const body = rows.map((row) => taskOf(row, dag));
  const table = element("table", { class: "plain", "aria-label": "Tasks" }, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tasks, scrollable" }, table);
}

function taskOf(row, dag) {
  const query = new URLSearchParams({ dag, task: row.task });
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, element("a", { href: `?${query}` }, row.task)),
    element("td", {}, row.operator),
    element("td", {}, row.configured ? "yes" : element("span", { class: "soft" }, "no, its operator is not one of this package")),
  );
}
