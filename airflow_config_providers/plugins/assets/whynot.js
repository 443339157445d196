// Why a setting does not apply: a value of a key, or what the reader writes.

import { notesOf, refused } from "./change.js";
import { element, oneAtATime, printable } from "./dom.js";
import { layerAndOrigin, layerName, named, SOURCES, sourceOf } from "./layers.js";
import { sendJson } from "./server.js";
import { valueOf } from "./values.js";

const MOST = 100; // answers that are shown: a layer has one for each of its keys

// Return the form. questions has the addresses to ask; dryRun is null where no change is possible. seen are the notes that
// the page shows already. Without a row, the reader also writes the key.
export function whyNotForm({ questions, seen, row }) {
  const field = element("input", { id: "why-not", autocomplete: "off", spellcheck: "false", required: !row, list: row ? null : "layers", "aria-describedby": "why-not-hint" });
  const ask = element("button", { type: "submit", class: "secondary" }, "Ask why not");
  const answers = element("div", { class: "verdict-place", role: "status" });
  const setting = () => (row ? `${row.key}=${field.value}` : (sourceOf(field.value.trim()) ?? field.value.trim()));
  const send = oneAtATime(async () => {
    const asked = setting();
    answers.replaceChildren("Asking …");
    const shown = await answered(questions, asked).then((answer) => answersOf(answer, seen), refused);
    if (asked !== setting()) return; // it was changed meanwhile
    answers.replaceChildren(shown);
    answers.scrollIntoView({ block: "nearest" });
  });
  return element(
    "form",
    { class: "why-not", input: () => answers.replaceChildren(), submit: (event) => { event.preventDefault(); send(); } },
    element("div", { class: "field" }, element("label", { for: field.id }, row ? `Value of ${printable(row.key)}` : "Setting or layer"), field),
    row ? "" : element("datalist", { id: "layers" }, SOURCES.map((source) => element("option", { value: layerName(source) }))),
    element("p", { id: "why-not-hint", class: "soft" }, hintOf(row)),
    element("div", { class: "buttons" }, ask),
    answers,
  );
}

function hintOf(row) {
  if (row) return row.sensitive ? "Values that are hidden are not compared." : "Such as the value that you expected. Nothing is changed.";
  return "Such as spark.executor.memory=8g, a key, the path of a file, or a layer. Nothing is changed.";
}

// A dry run takes the permission to change. Who lacks it learns the rest.
async function answered({ plain, dryRun }, setting) {
  if (!dryRun || !setting.includes("=")) return sendJson("POST", plain, { setting });
  try {
    return await sendJson("POST", dryRun, { setting });
  } catch (refusal) {
    if (refusal.kind !== "forbidden") throw refusal;
    const answer = await sendJson("POST", plain, { setting });
    return { ...answer, notes: [...answer.notes, `Whether it would be allowed was not checked. ${refusal.message}`] };
  }
}

function answersOf({ rows, notes }, seen) {
  const sorted = [...rows.filter((row) => !applies(row)), ...rows.filter(applies)];
  const more = rows.length - MOST;
  return element("div", {},
    element("ul", { class: "answers" }, sorted.slice(0, MOST).map(answerOf)),
    more > 0 ? element("p", { class: "soft" }, `And ${more} more.`) : "",
    notesOf(notes.filter((note) => !seen.includes(note))));
}

function applies({ verdict }) {
  return verdict === "applies";
}

function answerOf(row) {
  const { key, value, layer, verdict, reason } = row;
  const setting = key === null ? "" : element("div", {}, element("code", {}, key), value === null ? "" : [" = ", valueOf(value)]);
  return element("li", { class: applies(row) ? "verdict allowed" : "verdict denied" },
    element("strong", {}, verdict), setting,
    layer === null ? "" : element("div", { class: "soft" }, layerAndOrigin(layer)),
    element("div", {}, named(reason)));
}
