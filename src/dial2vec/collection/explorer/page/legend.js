// @ts-check
"use strict";
// The choice of a colouring, and its legend: a value is a condition, as in the filters; of numbers and times the ends are
// named. Areas and topics have no legend: their names stand on the map and in the table.

// Share of the page's colour in that of dialogues without a value; colourings without a legend.
const FAINTNESS = 0.55, NAMED = ["area", "topic"];

class Legend {
  // content: unpacked, with `colourings`; on: {set(change), colour({codes, colours, page})}
  constructor(box, select, content, on) {
    Object.assign(this, { box, select, on });
    select.addEventListener("change", () => on.set({ colour: select.value }));
    // A browser does not scroll to a focused entry whose edge can be seen.
    box.addEventListener("focusin", ({ target }) => target.scrollIntoView({ block: "nearest", inline: "nearest" }));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
    this.take(content);
  }

  // Take over other content.
  take({ colourings }) {
    this.colourings = colourings;
    this.way = null;
    this.select.replaceChildren();
    for (const { title } of colourings) element("option", title, this.select, { value: title });
  }

  update({ state, passes }) {
    const way = this.colourings.find(({ title }) => title === state.colour) ?? this.colourings[0];
    this.filters = state.filters;
    if (way !== this.way) this.#take(way);
    const chosen = chosenOf(state.filters, way.title);
    const counts = countsOf(way.codes, passes(chosen.length ? `key ${way.title}` : ""), way.names.length);
    for (const { item, number, code } of this.entries) {
      item.setAttribute("aria-pressed", String(chosen.includes(way.names[code])));
      number.textContent = FIGURES.format(counts[code]);
    }
    this.box.classList.toggle("chosen", chosen.length > 0);
  }

  #take(way) {
    this.way = way;
    this.select.value = way.title;
    this.box.replaceChildren();
    this.box.hidden = NAMED.includes(way.title) || way.names.length < 2;
    const named = [...way.names.keys()], ends = way.kind === "category" ? [] : named.filter((code) => way.marks[code] !== "faint");
    if (ends.length) this.#ramp(ends);
    this.entries = named.filter((code) => !ends.includes(code)).map((code) => this.#entry(code));
    this.#paint();
  }

  #entry(code) {
    const { title, names, colours, marks } = this.way;
    const item = button("", this.box, () => this.on.set({ filters: toggled(this.filters, title, names[code]) }));
    element("span", "", item, { className: `mark ${marks[code]}` }).style.setProperty("--own", colours[code]);
    item.append(names[code], " ");
    return { item, code, number: element("small", "", item) };
  }

  // The lowest and the highest value, and the colours between them.
  #ramp(known) {
    const ends = [this.way.names[known[0]].split(" to ")[0], this.way.names[known[known.length - 1]].split(" to ").pop()];
    element("span", ends[0], this.box);
    const ramp = element("span", "", this.box, { className: "ramp" });
    for (const code of known) element("i", "", ramp).style.setProperty("--own", this.way.colours[code]);
    element("span", ends[1], this.box);
  }

  // Values of one colour are one group for the map.
  #paint() {
    if (!this.way) return;
    const { codes, colours, marks } = this.way, style = getComputedStyle(document.documentElement);
    const [page, ink, lift] = ["--page", "--ink", "--lift"].map((name) => style.getPropertyValue(name).trim());
    const seen = colours.map((colour, code) => (marks[code] === "faint" ? mixed(colour, page, FAINTNESS) : mixed(colour, ink, parseFloat(lift) / 100)));
    const known = [...new Set(seen)], places = seen.map((colour) => known.indexOf(colour));
    this.on.colour({ codes: Uint8Array.from(codes, (code) => places[code]), colours: known, page });
  }
}

// A colour between two, such as "#8b949e".
function mixed(colour, other, share) {
  const part = (one, place) => parseInt(one.slice(place, place + 2), 16);
  const between = [1, 3, 5].map((place) => Math.round((1 - share) * part(colour, place) + share * part(other, place)));
  return `#${between.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
