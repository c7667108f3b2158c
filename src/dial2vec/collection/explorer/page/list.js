// @ts-check
"use strict";
// The list of dialogues, extended while scrolling.

const AT_ONCE = 100;

const many = (number) => `${number.toLocaleString("en")} dialogue${number === 1 ? "" : "s"}`;
const byId = (name) => document.getElementById(name);

// A new element; its text is never read as markup.
function element(tag, text, parent, options = {}) {
  const made = Object.assign(document.createElement(tag), options);
  made.textContent = text;
  parent?.append(made);
  return made;
}

const spoken = ([speaker, text]) => `${speaker}: ${text}`;

class List {
  // about(row) is [id, [detail, ...]]; on: {open(row), mark(row)}
  constructor(box, source, about, on) {
    Object.assign(this, { box, source, about, on, rows: [], items: [] });
    box.addEventListener("click", (event) => this.#click(event));
    box.addEventListener("keydown", (event) => this.#key(event));
    box.addEventListener("scroll", () => {
      if (box.scrollTop + box.clientHeight > box.scrollHeight - 400) this.#more();
    });
  }

  // hits: what a search has found, or null; the list then shows the turn that answers best instead of the first turns.
  show(rows, hits, query) {
    this.rows = rows;
    const places = new Map(hits?.rows.map((row, place) => [row, place]) ?? []);
    this.found = (row) => [hits?.notes?.[places.get(row)], hits?.turns?.[places.get(row)]?.[0]];
    this.words = soughtIn(query, hits?.way);
    this.items = [];
    this.active = -1;
    this.box.replaceChildren();
    this.box.removeAttribute("aria-activedescendant");
    this.box.scrollTop = 0;
    this.#more();
  }

  // Mark the row if the list has it.
  mark(row) {
    this.#activate(this.items.findIndex((item) => Number(item.dataset.row) === row), false);
  }

  async #more() {
    const first = this.items.length, rows = Array.from(this.rows.slice(first, first + AT_ONCE));
    if (!rows.length) return;
    const made = rows.map((row, i) => this.#item(row, first + i));
    this.items.push(...made);
    this.box.append(...made);
    const answering = rows.map((row) => [row, this.found(row)[1]]).filter(([, turn]) => turn !== undefined);
    if (answering.length) await this.#quote(answering, made);
    const others = made.filter((_, i) => this.found(rows[i])[1] === undefined);
    if (!others.length) return;
    const openings = await this.source.openings(others.map((item) => Number(item.dataset.row))).catch(() => []);
    openings.forEach((turns, i) => { others[i].lastChild.textContent = turns.map(spoken).join(" · "); });
  }

  // Show the turns that answer, with the words of the search marked.
  async #quote(answering, made) {
    const items = new Map(made.map((item) => [Number(item.dataset.row), item])), { words } = this;
    const turns = await this.source.turns(answering).catch(() => []);
    turns.forEach(([speaker, text], i) => {
      items.get(answering[i][0]).lastChild.replaceChildren(`${speaker}: `, ...marked(text, words, []));
    });
  }

  #item(row, place) {
    const [id, details] = this.about(row), item = element("li", "", null, { id: `item-${place}` });
    item.dataset.row = row;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.setAttribute("aria-posinset", place + 1);
    item.setAttribute("aria-setsize", this.rows.length);
    const head = element("p", "", item, { className: "head" });
    element("strong", id, head);
    const [note] = this.found(row);
    for (const detail of note ? [note, ...details] : details) element("span", detail, head);
    element("p", "", item, { className: "opening" });
    return item;
  }

  #click(event) {
    const item = event.target.closest("li");
    if (!item) return;
    this.#activate(this.items.indexOf(item));
    this.on.open(Number(item.dataset.row));
  }

  #key(event) {
    const next = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, Home: 0, End: this.items.length - 1 }[event.key];
    if (next !== undefined) this.#activate(Math.min(Math.max(next, 0), this.items.length - 1));
    else if (event.key === "Enter" && this.active >= 0) this.on.open(Number(this.items[this.active].dataset.row));
    else return;
    event.preventDefault();
    if (this.active > this.items.length - 10) this.#more();
  }

  #activate(place, tell = true) {
    this.items[this.active]?.setAttribute("aria-selected", "false");
    this.active = place;
    const item = this.items[place];
    if (!item) return this.box.removeAttribute("aria-activedescendant");
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    this.box.setAttribute("aria-activedescendant", item.id);
    return tell && this.on.mark(Number(item.dataset.row));
  }
}
