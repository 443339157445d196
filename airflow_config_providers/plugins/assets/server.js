// Requests to the REST interface. Airflow's cookie says who the user is.

// A refusal, in sentences for the reader.
export class Refusal extends Error {
  constructor(status, problems, kind = "") {
    super(problems.join(" "));
    this.status = status;
    this.problems = problems;
    this.kind = kind;
  }
}

const FIRST = 100; // keys, more than a window shows

const ENDED = "You are not signed in, or your session has ended. Reload Airflow and sign in.";
const OFFLINE = "The server cannot be reached. Check the connection, then try again.";
const NOWHERE = "Browsers cannot ask for something that is called . or .. by name. Run airflow config-providers describe on a worker.";

// Return a name as a part of an address. Browsers take . and .. for folders, however they are encoded.
export function partOf(name) {
  if (name === "." || name === "..") throw new Refusal(0, [NOWHERE]);
  return encodeURIComponent(name);
}

// The address of a resource, relative to the page, so that it works behind any path.
export function addressOf({ dag, task }) {
  if (!dag) return "../v1/default";
  const ofDag = `../v1/dags/${partOf(dag)}`;
  return task ? `${ofDag}/tasks/${partOf(task)}` : ofDag;
}

// Return the answer to a question.
export function ask(path, parameters = {}) {
  return send("GET", addressWith(path, parameters));
}

// Return the first keys of an answer, which a server has long before 10,000, and a promise of all: null if there are no more.
export async function askForKeys(path, parameters) {
  const answer = await ask(path, { ...parameters, first: FIRST });
  performance.mark("data");
  return { ...answer, rest: answer.rows.length < FIRST ? null : ask(path, parameters) };
}

// Return an address with those parameters that have a value.
export function addressWith(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given).toString();
  return query ? `${path}?${query}` : path;
}

// Send a change, or a question that no log of addresses may have. Only JSON from this site is accepted.
export function sendJson(method, path, body) {
  return send(method, path, { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

async function send(method, path, more = {}) {
  let answer;
  try {
    answer = await fetch(path, { method, credentials: "same-origin", cache: "no-store", redirect: "error", ...more });
  } catch {
    throw new Refusal(0, [OFFLINE]);
  }
  const content = await answer.json().catch(() => null);
  if (answer.ok && content) return content;
  throw refusalOf(answer.status, content);
}

function refusalOf(status, content) {
  if (status === 401 || content?.kind === "unauthenticated") return new Refusal(status, [ENDED]);
  const said = Array.isArray(content?.problems) ? content.problems : [];
  return new Refusal(status, said.length ? said : [`The server answered with status ${status}. See its log.`], content?.kind);
}
