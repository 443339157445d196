// Dark or light, as Airflow is. Alone in a window, the page follows the setting that Airflow remembers, then the system.

const DARK = matchMedia("(prefers-color-scheme: dark)");

function ofAirflow() {
  try {
    const classes = parent === window ? null : parent.document.documentElement.classList;
    if (classes?.contains("dark")) return "dark";
    if (classes?.contains("light")) return "light";
    const remembered = localStorage.getItem("theme");
    return remembered === "dark" || remembered === "light" ? remembered : null;
  } catch {
    return null; // another site shows the page, or the browser keeps nothing
  }
}

function apply() {
  document.documentElement.dataset.theme = ofAirflow() ?? (DARK.matches ? "dark" : "light");
}

export function followTheme() {
  apply();
  DARK.addEventListener("change", apply);
  addEventListener("storage", apply);
  try {
    if (parent !== window) new MutationObserver(apply).observe(parent.document.documentElement, { attributeFilter: ["class"] });
  } catch {
    // The page keeps the theme that it has.
  }
}
