// A table of any length, of which only the visible rows are in the document.

import { element } from "./dom.js";

const HEIGHT = 48; // of a row, in pixels, as style.css has it
const BEYOND = 12; // rows above and below the visible ones

export class Table {
  // columns: {title, cell(row)}; the first cell of a row is the button that opens it.
  constructor({ label, columns, open }) {
    this.columns = columns;
    this.open = open;
    this.rows = [];
    this.current = 0;
    this.body = element("tbody");
    this.table = element("table", { "aria-label": label, "aria-colcount": columns.length }, this.head(), this.body);
    this.element = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${label}, scrollable` }, this.table);
    this.element.addEventListener("scroll", () => this.draw());
    this.element.addEventListener("keydown", (event) => this.move(event));
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(this.element);
  }

  head() {
    const cells = this.columns.map(({ title }) => element("th", { scope: "col" }, title));
    return element("thead", {}, element("tr", { "aria-rowindex": 1 }, cells));
  }

  show(rows) {
    this.rows = rows;
    this.current = Math.min(this.current, Math.max(rows.length - 1, 0));
    this.table.setAttribute("aria-rowcount", rows.length + 1);
    this.drawn = "";
    this.draw();
  }

  // Put the visible rows into the document, if they are others than before.
  draw() {
    const height = this.element.clientHeight || 800;
    const first = Math.max(0, Math.floor(this.element.scrollTop / HEIGHT) - BEYOND);
    const last = Math.min(this.rows.length, Math.ceil((this.element.scrollTop + height) / HEIGHT) + BEYOND);
    if (this.drawn === `${first}-${last}`) return;
    this.drawn = `${first}-${last}`;
    const focused = this.body.contains(document.activeElement);
    const shown = this.rows.slice(first, last).map((row, at) => this.row(row, first + at));
    this.body.replaceChildren(...this.space(first), ...shown, ...this.space(this.rows.length - last));
    if (focused) this.focus({ preventScroll: true });
  }

  space(rows) {
    if (rows <= 0) return [];
    const space = element("td", { colspan: this.columns.length });
    space.style.height = `${rows * HEIGHT}px`;
    return [element("tr", { class: "space", "aria-hidden": "true" }, space)];
  }

  row(row, index) {
    const [first, ...others] = this.columns;
    const name = element("button", { class: "key", tabindex: index === this.current ? "0" : "-1", "data-index": index, title: row.key, click: () => this.opened(index) }, first.cell(row));
    const selected = row.key === this.selected;
    if (selected) name.setAttribute("aria-current", "true");
    return element(
      "tr",
      { "aria-rowindex": index + 2, class: selected ? "open" : null },
      element("th", { scope: "row" }, name),
      others.map(({ cell }) => element("td", {}, element("div", { class: "cell" }, cell(row)))),
    );
  }

  opened(index) {
    this.current = index;
    this.select(this.rows[index].key);
    this.open(this.rows[index]);
  }

  // Mark the row of a key; null for none.
  select(key) {
    this.selected = key;
    this.drawn = "";
    this.draw();
  }

  // Make the row of a key the current one, if there is such a row.
  goTo(key) {
    const at = this.rows.findIndex((row) => row.key === key);
    if (at < 0) return;
    this.current = at;
    this.drawn = "";
    this.draw();
  }

  // Put the focus on the current row if it is in the document, and otherwise on the table.
  focus(options = {}) {
    (this.body.querySelector(`[data-index="${this.current}"]`) ?? this.element).focus(options);
  }

  move(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / HEIGHT) - 1);
    const last = this.rows.length - 1;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -last, End: last };
    if (!Object.hasOwn(steps, event.key) || event.altKey || event.ctrlKey || event.metaKey || last < 0) return;
    event.preventDefault();
    this.current = Math.min(last, Math.max(0, this.current + steps[event.key]));
    this.reveal(this.current);
    this.drawn = "";
    this.draw();
    this.focus({ preventScroll: true });
  }

  // Scroll so that a row is visible below the head.
  reveal(index) {
    const top = index * HEIGHT;
    const visible = this.element.clientHeight - 2 * HEIGHT;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top > this.element.scrollTop + visible) this.element.scrollTop = top - visible;
  }
}
