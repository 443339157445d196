// Values as a reader sees them: references are marked, and nothing is resolved.

import { element } from "./dom.js";

const LONGEST = 2500; // characters that are shown, as many as a record has: a browser takes long to lay out a megabyte

const REFERENCE = /\$\{[^{}]*\}/g;

// Return whether a value holds a reference.
export function hasReference(value) {
  return typeof value === "string" && value.search(REFERENCE) >= 0;
}

// Return the references in a value.
export function referencesIn(value) {
  return typeof value === "string" ? (value.match(REFERENCE) ?? []) : [];
}

// Return the provider, the path and the key of a reference.
export function partsOf(reference) {
  const inner = reference.slice(2, -1);
  const first = inner.indexOf(":");
  const last = inner.lastIndexOf(":");
  if (first < 0) return { provider: "Spark", path: "", key: inner };
  return { provider: inner.slice(0, first), path: first === last ? "" : inner.slice(first + 1, last), key: inner.slice(last + 1) };
}

function noteOn(value) {
  const note = value === "" ? "(empty)" : value.length > LONGEST ? `… (${value.length} characters)` : "";
  return note && element("span", { class: "soft" }, note);
}

// Return an element that shows a value, or its beginning if it is long. A plaintext secret has none.
export function valueOf(value, source = "?") {
  if (value === null || value === undefined) {
    return element("span", { class: "soft" }, source === null || source === undefined ? "not set" : "hidden: a secret in plain text");
  }
  const parts = [];
  let end = 0;
  const shown = value.slice(0, LONGEST);
  for (const found of shown.matchAll(REFERENCE)) {
    parts.push(shown.slice(end, found.index), element("span", { class: "reference" }, found[0]));
    end = found.index + found[0].length;
  }
  return element("code", {}, ...parts, shown.slice(end), noteOn(value));
}
