// What a run had, and how it differs from another run or from now.

import { notesOf } from "./change.js";
import { element } from "./dom.js";
import { keysView } from "./keys.js";
import { layerAndOrigin } from "./layers.js";
import { addressWith, ask, askForKeys, partOf } from "./server.js";
import { valueOf } from "./values.js";

const CHANGES = { added: "added", removed: "removed", changed: "changed", "other secret": "same reference, other secret", "not read here": "not known: the server reads no files of authors" };

// Return the view. wanted is the run that the address of the page names, if it names one.
export async function runsView({ address, wanted }) {
  const tries = await triesOf(address, wanted);
  if (!tries.length) {
    return element("p", { class: "empty" }, "No run of this task has left a record. Runs from before airflow-config-providers was installed have none.");
  }
  const place = element("div", { class: "view" });
  const chosen = picker("Run", tries.map((one) => [JSON.stringify(one), nameOf(one)]));
  const compared = picker("Compare with", [["", "nothing"], ["now", "now"], ...tries.map((one) => [JSON.stringify(one), nameOf(one)])]);
  const renew = async () => {
    const asked = `${chosen.select.value} ${compared.select.value}`;
    const shown = await shownOf(address, JSON.parse(chosen.select.value), compared.select.value);
    if (asked === `${chosen.select.value} ${compared.select.value}`) place.replaceChildren(shown);
  };
  for (const { select } of [chosen, compared]) select.addEventListener("change", renew);
  await renew();
  return element("div", { class: "view runs" }, element("div", { class: "bar" }, chosen.element, compared.element), place);
}

// Return the tries that can be chosen, those of the wanted run first; it may be kept where the list does not look.
async function triesOf(address, wanted) {
  const { rows } = await ask(`${address}/runs`);
  if (!wanted) return rows;
  const isWanted = (one) => one.run === wanted.run && (wanted.map_index === null || one.map_index === wanted.map_index);
  const first = rows.filter(isWanted);
  return [...(first.length ? first : [{ ...wanted, try: null }]), ...rows.filter((one) => !isWanted(one))];
}

function nameOf(one) {
  const number = one.try ? `, try ${one.try}` : "";
  return one.map_index !== null && one.map_index >= 0 ? `${one.run}, instance ${one.map_index}${number}` : `${one.run}${number}`;
}

function picker(label, options) {
  const select = element("select", {}, options.map(([value, text]) => element("option", { value }, text)));
  return { select, element: element("label", { class: "picker" }, `${label} `, select) };
}

async function shownOf(address, one, other) {
  const parameters = { try: one.try, map_index: one.map_index };
  try {
    const ofRun = `${address}/runs/${partOf(one.run)}`;
    if (!other) {
      const questions = { plain: addressWith(`${ofRun}/why-not`, parameters), dryRun: null };
      return keysView({ ...(await askForKeys(ofRun, { ...parameters, synonyms: true })), address, change: null, questions });
    }
    const second = other === "now" ? {} : JSON.parse(other);
    const { rows, notes } = await ask(`${ofRun}/differences`, { ...parameters, with: second.run, with_try: second.try });
    return differencesView(rows, notes);
  } catch (refusal) {
    return element("ul", { class: "problems" }, (refusal.problems ?? [String(refusal)]).map((problem) => element("li", {}, problem)));
  }
}

function differencesView(rows, notes) {
  if (!rows.length) return element("div", {}, notesOf(notes), element("p", { class: "empty" }, "Nothing differs."));
  const head = ["Key", "Change", "Before", "After"].map((title) => element("th", { scope: "col" }, title));
  const body = rows.map((row) =>
    element("tr", {}, element("th", { scope: "row" }, element("code", {}, row.key)), element("td", {}, CHANGES[row.change] ?? row.change), side(row.before, row.before_layer), side(row.after, row.after_layer)),
  );
  const table = element("table", { class: "plain", "aria-label": "Differences" }, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Differences, scrollable" }, notesOf(notes), table);
}

function side(value, layer) {
  return element("td", {}, layer === null ? element("span", { class: "soft" }, "not set") : [valueOf(value, layer), element("div", { class: "soft" }, layerAndOrigin(layer))]);
}
