// The page: what its address asks for, and the view that is chosen.

import { element, printable } from "./dom.js";
import { historyOf } from "./history.js";
import { keysView, nothingChosen } from "./keys.js";
import { runsView } from "./runs.js";
import { addressOf, ask, askForKeys } from "./server.js";
import { tabs } from "./tabs.js";
import { tasksOf } from "./tasks.js";
import { followTheme } from "./theme.js";

// Airflow leaves a part of the address as it is, such as {MAP_INDEX}, where it has nothing to fill in.
function wantedOf(query) {
  const given = new URLSearchParams(query);
  const text = (name) => (/^\{[A-Z_]+\}$/.test(given.get(name) ?? "") ? null : given.get(name) || null);
  const map = text("map");
  return { dag: text("dag"), task: text("task"), run: text("run"), map_index: /^-?\d+$/.test(map ?? "") ? Number(map) : null };
}

const wanted = wantedOf(location.search);
const kind = wanted.task ? "TASK" : wanted.dag ? "DAG" : "DEFAULT";
const name = { TASK: `task ${wanted.task} of DAG ${wanted.dag}`, DAG: `DAG ${wanted.dag}`, DEFAULT: "the whole deployment" }[kind];
const panel = document.getElementById("panel");
const status = document.getElementById("status");
const chosen = nothingChosen();
let defaults = false;
let latest = 0;

const VIEWS = { Now: nowView, Runs: async () => runsView({ address: addressOf(wanted), wanted: wanted.run ? wanted : null }), Tasks: tasksView, History: historyView };

async function nowView() {
  const address = addressOf(wanted);
  const past = await ask(`${address}/history`); // before the keys, which are then never older than the version
  const found = await askForKeys(address, { synonyms: true, all: defaults || null });
  const version = past.rows.at(-1)?.version ?? 0;
  const change = { kind, address, name, version, changed: (key) => { say("Changed."); chosen.key = key; show("Now", 'button.key[tabindex="0"]'); } };
  const toggle = () => { defaults = !defaults; show("Now", "#defaults"); };
  const questions = { plain: `${address}/why-not`, dryRun: `${address}/why-not/dry-run` };
  return keysView({ ...found, address, change, questions, chosen, defaults: { shown: defaults, toggle } });
}

async function tasksView() {
  return tasksOf({ ...(await ask(`${addressOf(wanted)}/tasks`)), dag: wanted.dag });
}

async function historyView() {
  const address = addressOf(wanted);
  const { rows } = await ask(`${address}/history`);
  return historyOf({ rows, address, changed: () => { say("Restored."); show("History"); } });
}

// Have screen readers say what was done, also if it is what they said last.
function say(text) {
  status.replaceChildren();
  setTimeout(() => status.replaceChildren(text), 100);
}

// Show a view; the one that was chosen last, if several are awaited. If the focus was in the one before, it goes to what
// the selector finds, or to the tab.
async function show(view, selector = null) {
  const number = (latest += 1);
  panel.setAttribute("aria-busy", "true");
  let shown;
  try {
    shown = await VIEWS[view]();
  } catch (refusal) {
    shown = problemsOf(refusal);
  }
  if (number !== latest) return;
  const hadFocus = panel.contains(document.activeElement);
  panel.replaceChildren(shown);
  panel.setAttribute("aria-busy", "false");
  if (hadFocus) ((selector && panel.querySelector(selector)) ?? document.querySelector('[role="tab"][aria-selected="true"]')).focus();
  requestAnimationFrame(() => setTimeout(() => performance.mark("rows"))); // the frame with the rows is painted in between
}

function problemsOf(refusal) {
  const title = refusal.status === 403 ? "You may not see this." : "This cannot be shown.";
  const problems = (refusal.problems ?? [`The page failed: ${refusal}`]).map((problem) => element("li", {}, problem));
  return element("div", { class: "problems", role: "alert" }, element("h2", {}, title), element("ul", {}, problems));
}

// `/` goes to the search, unless the reader is writing.
function focusSearch(event) {
  const search = document.getElementById("search");
  const isWriting = event.target.closest?.("input, textarea, select");
  if (event.key !== "/" || isWriting || !search || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  search.focus();
}

followTheme();
document.title = printable(`Configuration of ${name}`);
document.getElementById("title").textContent = printable([wanted.dag ?? "Deployment", wanted.task].filter(Boolean).join(" › "));
document.getElementById("subtitle").textContent = printable(wanted.run ? `run ${wanted.run}` : { TASK: "configuration of the task", DAG: "dynamic configuration of the DAG", DEFAULT: "defaults of every DAG" }[kind]);
document.addEventListener("keydown", focusSearch);
const choose = tabs(document.getElementById("tabs"), panel, { TASK: ["Now", "Runs", "History"], DAG: ["Now", "Tasks", "History"], DEFAULT: ["Now", "History"] }[kind], show);
choose(wanted.run ? "Runs" : "Now");
