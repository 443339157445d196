// The changes of a resource, the newest first, and the way back.

import { attempt } from "./change.js";
import { element, enable, oneAtATime } from "./dom.js";
import { valueOf } from "./values.js";

// Return the list. changed() is called after a version was restored.
export function historyOf({ rows, address, changed }) {
  if (!rows.length) return element("p", { class: "empty" }, "Nobody has changed the dynamic configuration here.");
  const versions = Map.groupBy(rows, (row) => row.version);
  const newest = rows.at(-1).version;
  const shown = [...versions.entries()].reverse().map(([version, keys]) => versionOf({ version, keys, newest, address, changed }));
  return element("ol", { class: "history", "aria-label": "Changes, the newest first" }, shown);
}

function versionOf({ version, keys, newest, address, changed }) {
  const [{ by, at, event, restored }] = keys;
  const time = at ? [", ", element("time", { datetime: at }, timeOf(at))] : [];  // a loss has none
  return element(
    "li",
    {},
    element("h2", {}, `Version ${version}`, element("span", { class: "soft" }, ` by ${by || "unknown"}`, time, whatFor(event, restored))),
    element("ul", { class: "differences" }, keys.map(differenceOf)),
    version === newest ? "" : restore({ version, newest, address, changed }),
  );
}

// Return what kind of change it was, if it was more than a change of keys.
function whatFor(event, restored) {
  if (event === "rollback") return restored === null ? ", a rollback" : `, a rollback to version ${restored}`;
  if (event === "lost") return ", because its variable was deleted, or it or its history replaced by an older one";
  return event === "take_back" ? ", taking a change back" : "";
}

// Return what happened to a key.
function differenceOf({ key, was, is }) {
  return element("li", {}, element("code", {}, key), element("span", {}, marked("del", "before: ", was), " → ", marked("ins", "after: ", is)));
}

function marked(name, label, value) {
  return element(name, {}, element("span", { class: "hidden-label" }, label), value === null ? element("span", { class: "soft" }, "not set") : valueOf(value));
}

function timeOf(at) {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : date.toLocaleString();
}

function restore({ version, newest, address, changed }) {
  const place = element("div", { role: "status" });
  const make = element("button", { class: "primary", disabled: true }, "Restore");
  const dry = element("button", { class: "secondary" }, `Dry run of a return to version ${version}`);
  const send = oneAtATime(async (validateOnly) => {
    place.replaceChildren("Asking …");
    const shown = await attempt("POST", `${address}/rollback`, { to_version: version, validate_only: validateOnly, if_version: newest }, validateOnly);
    place.replaceChildren(shown.element);
    enable(make, shown.passed, dry);
    if (!validateOnly && shown.passed) changed();
  });
  dry.addEventListener("click", () => send(true));
  make.addEventListener("click", () => send(false));
  return element("div", {}, element("div", { class: "buttons" }, dry, make), place);
}
