// The journey of a value, drawn: the layers, the one that wins, the references, their providers, and the delivery.

import { counted, drawn, printable } from "./dom.js";
import { layerClass, layerName } from "./layers.js";
import { partsOf, referencesIn } from "./values.js";

const WIDTH = 360;
const LINE = 34;
const LONGEST = 46; // characters in a line
const MOST = 6; // layers, and references, that are drawn

// Return the drawing for a key.
export function journeyOf(row) {
  const boxes = stepsOf(row);
  const height = boxes.length * (LINE + 14) - 14 + 2;
  const drawing = drawn("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", class: "journey" });
  drawing.append(drawn("title", {}, boxes.map((box) => box.text).join(", then ")));
  boxes.forEach((box, at) => drawing.append(...boxAt(box, 1 + at * (LINE + 14), at < boxes.length - 1)));
  return drawing;
}

function stepsOf(row) {
  const references = referencesIn(row.value);
  return [...layersOf(row), ...referencesOf(references), { text: deliveryOf(row, references), kind: "end" }];
}

// The weakest layer first, so that the winner is beside what follows.
function layersOf(row) {
  const all = row.synonyms?.length ? row.synonyms : [row];
  const shown = all.slice(0, MOST).map((one, at) => ({
    text: at === 0 ? `${layerName(one.source)} wins` : `${layerName(one.source)} is overridden`,
    kind: at === 0 ? "winner" : "beaten",
    colour: layerClass(one.source),
  }));
  const more = all.length - shown.length;
  return [...(more > 0 ? [{ text: counted(more, "weaker value"), kind: "beaten" }] : []), ...shown.reverse()];
}

function referencesOf(references) {
  if (!references.length) return [];
  const shown = references.slice(0, MOST).map((reference) => {
    const { provider, path, key } = partsOf(reference);
    return { text: path ? `${provider} reads ${key} of ${path}` : `${provider} reads ${key}`, kind: "reference" };
  });
  const more = references.length - shown.length;
  return more > 0 ? [...shown, { text: counted(more, "more reference"), kind: "reference" }] : shown;
}

function deliveryOf(row, references) {
  if (row.source === "DEFAULT_CONFIG") return "Spark uses its own default";
  if (references.length || row.sensitive) return "to Spark, in a file that others cannot read";
  return "to Spark as it is";
}

function boxAt({ text, kind, colour }, y, follows) {
  const group = drawn("g", { class: `step ${kind} ${colour ?? ""}` });
  group.append(
    drawn("rect", { x: 1, y, width: WIDTH - 2, height: LINE, rx: 6 }),
    drawn("text", { x: 14, y: y + 22 }, cut(text)),
  );
  if (!follows) return [group];
  const line = drawn("path", { class: "arrow", d: `M${WIDTH / 2} ${y + LINE}v12m-4 -5l4 5l4 -5` });
  return [group, line];
}

function cut(text) {
  const shown = printable(text);
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST - 1)}…` : shown;
}
