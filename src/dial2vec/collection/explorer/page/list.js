// @ts-check
"use strict";
// The list of conversations, extended while scrolling.

const AT_ONCE = 100;
// Grey rows during a search.
const WAITING = 5;

const many = (number) => `${number.toLocaleString("en")} conversation${number === 1 ? "" : "s"}`;
const byId = (name) => document.getElementById(name);

// A new element; its text is never read as markup.
function element(tag, text, parent, options = {}) {
  const made = Object.assign(document.createElement(tag), options);
  made.textContent = text;
  parent?.append(made);
  return made;
}

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

  // hits: what a search has found, or null; the list then shows the turn that answers best instead of the one that speaks
  // for the topic. ways: [name, act] of what to do if there are no rows.
  show(rows, hits, query, ways) {
    this.#empty(rows);
    const places = new Map(hits?.rows.map((row, place) => [row, place]) ?? []);
    this.answer = (row) => hits?.turns?.[places.get(row)]?.[0];
    this.words = soughtIn(query, hits?.way);
    this.#more();
    if (rows.length) return;
    const line = element("li", "", this.box, { className: "nothing" });
    for (const [name, act] of ways) element("button", name, line, { type: "button" }).addEventListener("click", act);
  }

  // Show grey rows instead of conversations until there are hits.
  wait() {
    this.#empty([]);
    for (let i = 0; i < WAITING; i++) element("li", "", this.box, { className: "waiting" });
  }

  // Mark the row if the list has it.
  mark(row) {
    this.#activate(this.items.findIndex((item) => Number(item.dataset.row) === row), false);
  }

  #empty(rows) {
    Object.assign(this, { rows, items: [], texts: new Map(), active: -1 });
    this.box.replaceChildren();
    this.box.removeAttribute("aria-activedescendant");
    this.box.scrollTop = 0;
  }

  async #more() {
    const { words, texts } = this, first = this.items.length, rows = Array.from(this.rows.slice(first, first + AT_ONCE));
    if (!rows.length) return;
    const made = rows.map((row, i) => this.#item(row, first + i));
    this.items.push(...made);
    this.box.append(...made);
    const answering = rows.filter((row) => this.answer(row) !== undefined), others = rows.filter((row) => this.answer(row) === undefined);
    const said = await Promise.all([
      answering.length ? this.source.turns(answering.map((row) => [row, this.answer(row)])) : [],
      others.length ? this.source.speaking(others) : [],
    ]).catch(() => [[], []]);
    const turns = new Map([answering, others].flatMap((own, i) => own.map((row, at) => [row, said[i][at]])));
    rows.forEach((row, i) => {
      const text = turns.get(row)?.[1] ?? "";
      made[i].firstChild.replaceChildren(...marked(text, this.answer(row) === undefined ? NOTHING : words, []));
      if (this.answer(row) !== undefined) this.#fold(made[i], clean(text), texts);
    });
  }

  // Hide a hit that says the same as one before it, and count it there.
  #fold(item, text, texts) {
    const same = texts.get(text);
    if (!same) return texts.set(text, [item]);
    same.push(item);
    item.hidden = true;
    // No button: an option of a list has none. The key right unfolds it, too.
    const [shown, ...rest] = same, button = shown.querySelector(".same") ?? element("p", "", shown, { className: "same" });
    button.textContent = `${rest.length} more that say${rest.length === 1 ? "s" : ""} the same`;
    button.onclick = () => {
      for (const one of rest) one.hidden = false;
      shown.after(...rest);
      button.remove();
    };
    return texts;
  }

  #item(row, place) {
    const [id, details] = this.about(row), item = element("li", "", null, { id: `item-${place}` });
    item.dataset.row = row;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.setAttribute("aria-posinset", place + 1);
    item.setAttribute("aria-setsize", this.rows.length);
    element("p", "", item, { className: "opening" });
    element("p", [...details, id].join(" · "), item, { className: "head" });
    return item;
  }

  #click(event) {
    const item = event.target.closest("li");
    if (!item?.dataset.row || event.target.closest(".same")) return;
    this.#activate(this.items.indexOf(item));
    this.on.open(Number(item.dataset.row));
  }

  #key(event) {
    const shown = this.items.filter((item) => !item.hidden), at = shown.indexOf(this.items[this.active]);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (next !== undefined) this.#activate(this.items.indexOf(shown[Math.min(Math.max(next, 0), shown.length - 1)]));
    else if (event.key === "ArrowRight") shown[at]?.querySelector(".same")?.click();
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
