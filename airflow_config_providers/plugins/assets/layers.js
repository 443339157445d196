// The layers of a configuration, and how they are named and coloured.

const LAYERS = {
  RUN_CONFIG: ["Run", "run"],
  DYNAMIC_TASK_CONFIG: ["Dynamic, task", "dynamic"],
  DYNAMIC_DAG_CONFIG: ["Dynamic, DAG", "dynamic"],
  DYNAMIC_DEFAULT_CONFIG: ["Dynamic, deployment", "dynamic"],
  ENVIRONMENT_CONFIG: ["Environment", "environment"],
  DAG_CONFIG: ["DAG file", "dag"],
  STATIC_FILE_CONFIG: ["Properties file", "file"],
  DEFAULT_CONFIG: ["Spark's default", "default"],
};

// The sources, the strongest first.
export const SOURCES = Object.keys(LAYERS);

// Return the name of a layer for people. A record of a later version can have another source, which names itself.
export function layerName(source) {
  return Object.hasOwn(LAYERS, source) ? LAYERS[source][0] : source;
}

// Return the source that has a name for people; undefined if none has.
export function sourceOf(name) {
  return SOURCES.find((source) => layerName(source) === name);
}

// Return a layer and its origin, which the server gives as one text.
export function layerAndOrigin(layer) {
  const [source, ...origin] = layer.split(", ");
  return [layerName(source), ...origin].join(", ");
}

// Return a sentence of the server's with the names of layers for people.
export function named(sentence) {
  return sentence.replace(/\b([A-Z_]+_CONFIG)(?=, )/g, layerName);
}

// Return the class of a layer, which has its colour.
export function layerClass(source) {
  return `layer ${Object.hasOwn(LAYERS, source) ? LAYERS[source][1] : "default"}`;
}
