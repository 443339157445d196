// The view of a configuration: search, filters, the table of keys, and the panel about one of them.

import { changeForm, notesOf } from "./change.js";
import { detailsOf } from "./details.js";
import { counted, element } from "./dom.js";
import { FILTERS, layersOf, matching } from "./filters.js";
import { layerClass, layerName } from "./layers.js";
import { Table } from "./table.js";
import { valueOf } from "./values.js";
import { whyNotForm } from "./whynot.js";

// The state of a key, from what the last job had: a symbol, the words, and a class.
function stateOf(row) {
  if (row.pending === true) return ["◷", "pending", "wait"];
  if (row.pending === false) return ["✓", "in effect", "ok"];
  if (row.pending === null) return ["?", "known when it runs", "soft"];
  return ["", "", "soft"];
}

function stateCell(row) {
  const [symbol, words, kind] = stateOf(row);
  const had = row.pending === true ? element("div", { class: "soft" }, ...hadOf(row)) : "";
  return [element("span", { class: kind }, symbol ? element("span", { "aria-hidden": "true" }, `${symbol} `) : "", words), had];
}

function hadOf(row) {
  return row.applied_source ? ["the job has ", valueOf(row.applied, row.applied_source)] : ["the job has no value"];
}

// The origin in short: the layer says already what the dynamic configuration belongs to.
function shortOrigin(row) {
  return /^dynamic configuration of .*, (version \d+)$/s.exec(row.origin)?.[1] ?? row.origin;
}

function fromCell(row) {
  const beaten = (row.synonyms?.length ?? 1) - 1;
  return element("span", { title: row.origin }, element("span", { class: layerClass(row.source) }, layerName(row.source)), element("br"), element("span", { class: "soft" }, shortOrigin(row), beaten ? `, overrides ${beaten}` : ""));
}

function keyCell(row) {
  const others = [...new Set((row.synonyms ?? []).map((one) => one.key))].filter((name) => name && name !== row.key);
  const mark = row.sensitive ? element("span", { class: "mark" }, "sensitive") : "";
  return element("span", {}, element("code", {}, row.key), mark, others.length ? element("span", { class: "soft also" }, `also ${others.join(", ")}`) : "");
}

function columnsOf(rows) {
  const columns = [
    { title: "Key", cell: keyCell },
    { title: "Value", cell: (row) => valueOf(row.value, row.source) },
    { title: "Layer and origin", cell: fromCell },
  ];
  return rows.some((row) => "pending" in row) ? [...columns, { title: "Last job", cell: stateCell }] : columns;
}

// Return what is searched for and filtered by, and the key that was changed last, when nothing was chosen.
export function nothingChosen() {
  return { words: "", layer: "", names: new Set(), key: null };
}

// Return the view of rows. change is null where nothing can be changed; defaults() shows Spark's defaults too, if given.
// rest promises all rows and notes if these are only the first ones; questions has the addresses for why-not; chosen is kept
// for the next view.
export function keysView({ rows, notes, rest = null, address, change, questions, defaults, chosen = nothingChosen() }) {
  const side = element("div", { class: "side" });
  const count = element("p", { class: "count", role: "status" });
  const table = new Table({ label: "Keys", columns: columnsOf(rows), open: (row) => openDetails(row) });
  const none = element("p", { class: "empty", hidden: true });
  const noted = element("div", { class: "noted" });

  const close = () => {
    side.replaceChildren();
    view.classList.remove("with-details");
    table.select(null);
    table.focus();
  };
  const openSide = (content) => {
    view.classList.add("with-details");
    side.replaceChildren(content);
    side.querySelector("h2").focus();
  };
  const openDetails = (row) => openSide(detailsOf({ row, address, change, questions, seen: notes, close }));
  const openForm = (title, form) => openSide(
    element("aside", { class: "details", "aria-labelledby": "details-title" },
      element("div", { class: "details-head" }, element("h2", { id: "details-title", tabindex: "-1" }, title), element("button", { class: "secondary", click: close, "aria-label": "Close the form" }, "Close")),
      form));
  const renew = () => {
    const shown = matching(rows, chosen);
    table.show(shown);
    none.hidden = shown.length > 0 || Boolean(rest);
    none.textContent = rows.length ? "No key matches. Remove a filter, or search for less." : "No key is set here.";
    table.element.hidden = !shown.length;
    count.textContent = rest ? "Loading all keys …" : shown.length === rows.length ? counted(rows.length, "key") : `${shown.length} of ${counted(rows.length, "key")}`;
  };
  const layers = layerFilter(chosen, renew);
  const filters = filterButtons(chosen, renew);
  const fill = () => {
    layers.fill(rows);
    filters.fill(rest ? null : rows);
    noted.replaceChildren(notesOf(notes));
    renew();
  };

  const search = element("input", { type: "search", id: "search", placeholder: "Search names, values, layers, origins ( / )", "aria-label": "Search keys", autocomplete: "off", spellcheck: "false", input: () => { chosen.words = search.value; table.element.scrollTop = 0; renew(); } });
  const bar = element("search", { class: "bar" }, search, layers.element, filters.elements,
    defaults ? element("button", { class: "chip", id: "defaults", "aria-pressed": String(defaults.shown), click: defaults.toggle }, "Spark's defaults") : "",
    element("button", { class: "secondary", click: () => openForm("Why does a setting not apply?", whyNotForm({ questions, seen: notes })) }, "Why not?"),
    change ? element("button", { class: "secondary", click: () => openForm("Change a key", changeForm(change)) }, "Change a key") : "");
  const view = element("div", { class: "view keys", keydown: (event) => { if (event.key === "Escape" && side.firstChild) { event.preventDefault(); close(); } } },
    element("div", { class: "list" }, bar, noted, count, none, table.element), side);
  search.value = chosen.words;
  fill();
  table.goTo(chosen.key);
  rest?.then((all) => ({ rows, notes } = all), (refusal) => (notes = [...notes, `Only the first keys are shown. ${refusal.message}`])).then(() => {
    rest = null;
    fill();
    performance.mark("all rows");
  });
  return view;
}

// Return the choice of a layer, and what fills it with those of rows.
function layerFilter(chosen, renew) {
  const select = element("select", { "aria-label": "Layer", change: () => { chosen.layer = select.value; renew(); } });
  const fill = (rows) => {
    const sources = [...new Set([...layersOf(rows), chosen.layer])].filter(Boolean);
    const options = sources.map((source) => element("option", { value: source }, layerName(source)));
    select.replaceChildren(element("option", { value: "" }, "All layers"), ...options);
    select.value = chosen.layer;
  };
  return { element: select, fill };
}

// Return the buttons of the filters, and what counts the rows of each; of null, the number is not known yet.
function filterButtons(chosen, renew) {
  const numbers = Object.keys(FILTERS).map(() => element("span", { class: "number" }));
  const elements = Object.keys(FILTERS).map((name, at) => {
    const button = element("button", { class: "chip", "aria-pressed": String(chosen.names.has(name)), click: () => {
      const isOn = !chosen.names.delete(name);
      if (isOn) chosen.names.add(name);
      button.setAttribute("aria-pressed", String(isOn));
      renew();
    } }, `${name} `, numbers[at]);
    return button;
  });
  const fill = (rows) => Object.values(FILTERS).forEach((test, at) => { numbers[at].textContent = rows ? rows.filter(test).length : "…"; });
  return { elements, fill };
}
