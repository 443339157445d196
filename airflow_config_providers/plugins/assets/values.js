// Values as a reader sees them: references are marked, and nothing is resolved.

import { element } from "./dom.js";

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

// Return an element that shows a value. A plaintext secret has none.
export function valueOf(value, source = "?") {
  if (value === null || value === undefined) {
    return element("span", { class: "soft" }, source === null || source === undefined ? "not set" : "hidden: a secret in plain text");
  }
  const parts = [];
  let end = 0;
  for (const found of value.matchAll(REFERENCE)) {
    parts.push(value.slice(end, found.index), element("span", { class: "reference" }, found[0]));
    end = found.index + found[0].length;
  }
  return element("code", {}, ...parts, value.slice(end), value === "" ? element("span", { class: "soft" }, "(empty)") : "");
}
