// Tabs, which the arrow keys move between.

import { element } from "./dom.js";

// Fill `list` with tabs for `names`; show(name) is called with the one that was chosen. Return what chooses one.
export function tabs(list, panel, names, show) {
  const buttons = names.map((name) => element("button", { role: "tab", id: `tab-${name}`, "aria-controls": panel.id, click: () => choose(name) }, name));
  const choose = (name) => {
    for (const button of buttons) {
      const isChosen = button.id === `tab-${name}`;
      button.setAttribute("aria-selected", String(isChosen));
      button.tabIndex = isChosen ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `tab-${name}`);
    show(name);
  };
  list.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const button = buttons.at(to % buttons.length);
    button.focus();
    button.click();
  });
  list.replaceChildren(...buttons);
  return choose;
}
