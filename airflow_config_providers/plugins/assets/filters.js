// Which rows a reader wants to see.

import { printable } from "./dom.js";
import { layerName, SOURCES } from "./layers.js";
import { hasReference } from "./values.js";

// Name, and whether a row belongs to it.
export const FILTERS = {
  Overridden: (row) => (row.synonyms ?? []).length > 1,
  Pending: (row) => row.pending === true,
  Sensitive: (row) => row.sensitive === true,
  References: (row) => hasReference(row.value),
};

// Return the text of a row in which a search looks. It is made when somebody searches, so that the first rows are there sooner.
function searched(row) {
  row.searched ??= printable(
    [row.key, row.value ?? "", layerName(row.source), row.origin ?? "", ...(row.synonyms ?? []).map((one) => one.key)].join("\n"),
  ).toLowerCase();
  return row.searched;
}

// Return the rows that contain each word, and belong to the layer and to all filters that are set.
export function matching(rows, { words, layer, names }) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const tests = [...names].map((name) => FILTERS[name]);
  return rows.filter(
    (row) =>
      (!layer || row.source === layer) &&
      tests.every((test) => test(row)) &&
      wanted.every((word) => searched(row).includes(word)),
  );
}

// Return the layers of some rows, the strongest first, those of later versions last.
export function layersOf(rows) {
  const found = new Set(rows.map((row) => row.source));
  return [...SOURCES.filter((source) => found.has(source)), ...[...found].filter((source) => !SOURCES.includes(source))];
}
