"use strict";
// The choice of a colouring, and its legend; each entry hides or shows its group.

class Legend {
  // colourings: [{title, names, counts, colours, marks, codes: Uint8Array}]; onColour(colouring), onHide()
  constructor(box, select, colourings, onColour, onHide) {
    Object.assign(this, { box, onColour, onHide, off: new Set(), colouring: colourings[0] });
    colourings.forEach(({ title }, i) => element("option", title, select, { value: i }));
    select.addEventListener("change", () => this.colour(colourings[select.value]));
  }

  colour(colouring) {
    this.colouring = colouring;
    this.off = new Set();
    const groups = colouring.names.map((name, code) => this.#group(name, code));
    const all = groups.length > 1 ? [this.#all("all", () => []), this.#all("none", () => groups.keys())] : [];
    this.box.replaceChildren(...groups, ...all);
    this.onColour(colouring);
    this.#press();
  }

  shows(row) {
    return !this.off.has(this.colouring.codes[row]);
  }

  #group(name, code) {
    const button = element("button", "", null, { type: "button" });
    const mark = element("span", "", button, { className: `mark ${this.colouring.marks[code]}` });
    mark.style.setProperty("--own", this.colouring.colours[code]);
    button.append(name, " ");
    element("small", this.colouring.counts[code].toLocaleString("en"), button);
    button.dataset.code = code;
    button.addEventListener("click", () => {
      if (!this.off.delete(code)) this.off.add(code);
      this.#press();
    });
    return button;
  }

  #all(text, off) {
    const button = element("button", text, null, { type: "button", className: "all" });
    button.addEventListener("click", () => { this.off = new Set(off()); this.#press(); });
    return button;
  }

  #press() {
    for (const button of this.box.querySelectorAll("[data-code]")) {
      button.setAttribute("aria-pressed", String(!this.off.has(Number(button.dataset.code))));
    }
    this.onHide();
  }
}
