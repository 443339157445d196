// The form for a change: a dry run shows what every policy says, and only what passed it can be made.

import { element, enable, oneAtATime, printable } from "./dom.js";
import { layerName } from "./layers.js";
import { sendJson } from "./server.js";
import { valueOf } from "./values.js";

const LONGEST = 64 * 1024; // characters of a value that can be set

const OPERATIONS = { SET: "Set", DELETE: "Delete", APPEND: "Append to the list", SUBTRACT: "Remove from the list" };

// Return the form. changed() is called after a change was made.
export function changeForm({ address, name, row, version, changed }) {
  const key = element("input", { id: "change-key", value: printable(row?.key ?? ""), readonly: Boolean(row), required: true, autocomplete: "off", spellcheck: "false" });
  const kind = element("select", { id: "change-operation" }, Object.entries(OPERATIONS).map(([value, text]) => element("option", { value }, text)));
  const value = element("textarea", { id: "change-value", rows: 2, autocomplete: "off", spellcheck: "false", "aria-describedby": "change-hint" });
  value.value = row?.value?.length <= LONGEST ? row.value : ""; // not as a child, in which some characters are escaped
  const verdict = element("div", { class: "verdict-place", role: "status" });
  const dry = element("button", { type: "submit", class: "secondary" }, "Dry run");
  const make = element("button", { type: "button", class: "primary", disabled: true }, "Change");
  const operation = () => ({ op: kind.value, name: row?.key ?? key.value.trim(), value: kind.value === "DELETE" ? null : value.value });

  const renew = () => {
    make.disabled = true;
    verdict.replaceChildren();
    value.disabled = kind.value === "DELETE";
  };
  const send = oneAtATime(async (validateOnly) => {
    verdict.replaceChildren("Asking …");
    const asked = JSON.stringify(operation());
    const shown = await attempt("PATCH", address, { operations: [operation()], validate_only: validateOnly, if_version: version }, validateOnly);
    if (asked !== JSON.stringify(operation())) return; // it was changed meanwhile
    verdict.replaceChildren(shown.element);
    enable(make, shown.passed, dry);
    if (!validateOnly && shown.passed) changed(operation().name);
  });
  return element(
    "form",
    { class: "change", input: renew, submit: (event) => { event.preventDefault(); send(true); } },
    element("p", { class: "soft" }, `For ${name}. It applies from the next submit.`),
    labelled("Key", key),
    labelled("Operation", kind),
    labelled("Value", value),
    element("p", { id: "change-hint", class: "soft" }, "For a secret, write a reference such as ${vault:apps/db:password}."),
    element("div", { class: "buttons" }, dry, withClick(make, () => send(false))),
    verdict,
  );
}

function withClick(button, act) {
  button.addEventListener("click", act);
  return button;
}

function labelled(text, field) {
  return element("div", { class: "field" }, element("label", { for: field.id }, text), field);
}

// Send a change or its dry run; return whether it passed, and an element with the verdict.
export async function attempt(method, address, body, validateOnly) {
  try {
    const answer = await sendJson(method, address, body);
    return { passed: true, element: allowed(answer, validateOnly) };
  } catch (refusal) {
    return { passed: false, element: refused(refusal) };
  }
}

// Return what a key has now, or why that cannot be said.
function outcomeOf({ value, source, origin }) {
  if (!source) return element("span", { class: "soft" }, origin || "not set");
  return [valueOf(value, source), ` (${layerName(source)})`];
}

function allowed({ rows, notes }, validateOnly) {
  const title = validateOnly ? "No policy denies it. Afterwards:" : "Changed. Now:";
  const keys = rows.map((row) => element("li", {}, element("code", {}, row.key), " = ", outcomeOf(row)));
  return element("div", { class: "verdict allowed" }, element("strong", {}, title), element("ul", {}, keys), notesOf(notes));
}

// Return what says why a request was refused.
export function refused(refusal) {
  const title = refusal.kind === "denied" ? "A policy denies it." : "It was refused.";
  const problems = (refusal.problems ?? [String(refusal)]).map((problem) => element("li", {}, problem));
  return element("div", { class: "verdict denied" }, element("strong", {}, title), element("ul", {}, problems));
}

// Return the notes of an answer as a list; nothing if there are none.
export function notesOf(notes) {
  if (!notes?.length) return "";
  return element("ul", { class: "notes" }, notes.map((note) => element("li", {}, note)));
}
