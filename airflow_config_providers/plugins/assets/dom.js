// Elements. Every text enters the document as text, never as HTML.

// Characters that cannot be seen, or that change the order of the others.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

// Return `text` with an escape in place of each character that cannot be seen.
export function printable(text) {
  return String(text).replace(INVISIBLE, escaped);
}

// Return a number with its noun, as in "1 key" and "2 keys".
export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function escaped(character) {
  const code = character.codePointAt(0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}

// Return an element. Attributes that are false, null or undefined are left out, functions listen to events.
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

// Return an element of a drawing.
export function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

// Return what calls `act`, one call at a time. The buttons for it need not be disabled meanwhile, which would lose the focus.
export function oneAtATime(act) {
  let isBusy = false;
  return async (...given) => {
    if (isBusy) return;
    isBusy = true;
    await act(...given).finally(() => { isBusy = false; });
  };
}

// Enable or disable a button. If it has the focus and cannot keep it, `next` gets it.
export function enable(button, isEnabled, next) {
  if (!isEnabled && button === document.activeElement) next.focus();
  button.disabled = !isEnabled;
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, name === "title" ? printable(value) : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== "") {
      made.append(child instanceof Node ? child : document.createTextNode(printable(child)));
    }
  }
  return made;
}
