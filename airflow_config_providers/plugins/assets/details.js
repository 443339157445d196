// The panel about one key: its layers, its journey, what Spark says of it, and the form to change it.

import { changeForm } from "./change.js";
import { element } from "./dom.js";
import { journeyOf } from "./journey.js";
import { layerClass, layerName } from "./layers.js";
import { ask } from "./server.js";
import { valueOf } from "./values.js";
import { whyNotForm } from "./whynot.js";

const KINDS = { DEFAULT: "the deployment", DAG: "DAGs", TASK: "tasks" };

// Return the panel. change is null where nothing can be changed.
export function detailsOf({ row, address, change, questions, seen, close }) {
  const heading = element("h2", { id: "details-title", tabindex: "-1" }, row.key);
  return element(
    "aside",
    { class: "details", "aria-labelledby": "details-title" },
    element("div", { class: "details-head" }, heading, element("button", { class: "secondary", click: close, "aria-label": "Close the details" }, "Close")),
    section("Layers, the strongest first", layersOf(row)),
    section("Why not another value?", whyNotForm({ questions, seen, row })),
    section("Journey of the value", journeyOf(row)),
    section("What Spark says", notesOf(row, address)),
    change ? section("Change it", changeOf(row, change)) : "",
  );
}

function section(title, ...content) {
  return element("section", {}, element("h3", {}, title), content);
}

function layersOf(row) {
  const all = row.synonyms?.length ? row.synonyms : [row];
  return element("ol", { class: "layers" }, all.map((one, at) => layerOf(row, one, at)));
}

function layerOf(row, one, at) {
  const name = one.key && one.key !== row.key ? element("div", { class: "soft" }, "as ", element("code", {}, one.key)) : "";
  return element(
    "li",
    { class: at ? "beaten" : "wins" },
    element("div", {}, element("span", { class: layerClass(one.source) }, layerName(one.source)), element("span", { class: "soft" }, at ? " overridden" : " wins")),
    valueOf(one.value, one.source),
    name,
    element("div", { class: "soft" }, one.origin),
  );
}

// Return Spark's notes, which arrive later.
function notesOf(row, address) {
  const place = element("div", {}, row.documentation || "…");
  ask(`${address}/keys/${encodeURIComponent(row.key)}`).then(
    ({ rows: [notes] }) => place.replaceChildren(...described(row, notes)),
    (refusal) => place.replaceChildren(element("p", { class: "bad" }, refusal.message)),
  );
  return place;
}

function described(row, notes) {
  const facts = {
    Type: row.type,
    Unit: notes.unit,
    "Allowed values": notes.allowed_values.join(", "),
    Since: notes.since && `Spark ${notes.since}`,
    "In the catalogue of": notes.versions.length ? `Spark ${notes.versions.join(", ")}` : "",
    Deprecated: notes.deprecated && `since Spark ${notes.deprecated}`,
    Removed: notes.removed && `in Spark ${notes.removed}`,
    "Use in its place": notes.successor,
    Sensitive: row.sensitive ? "yes, it is hidden from logs and from Spark's pages" : "",
    "Can be changed for": (row.alterable_at ?? []).map((kind) => KINDS[kind] ?? kind).join(", ") || (row.read_only ? "nothing here" : ""),
  };
  const shown = Object.entries(facts).filter(([, value]) => value);
  const documentation = notes.documentation || row.documentation;
  return [
    element("p", {}, documentation || (notes.versions.length ? "Spark has no documentation of this key." : "Spark does not define this key. A job or a library can read it.")),
    notes.reason ? element("p", {}, notes.reason) : "",
    element("dl", {}, shown.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
  ].filter(Boolean);
}

function changeOf(row, { kind, ...rest }) {
  if (row.alterable_at && !row.alterable_at.includes(kind)) {
    return element("p", { class: "soft" }, "Dynamic configuration cannot set this key here.");
  }
  return changeForm({ ...rest, row });
}
