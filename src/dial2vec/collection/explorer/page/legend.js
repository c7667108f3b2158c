// @ts-check
"use strict";
// The choice of a colouring, and its legend: each entry is a condition, as in the filters.

// Groups with a style of their own; share of the page's colour in that of dialogues without a group.
const MOST_STYLES = 20, FAINTNESS = 0.55;

class Legend {
  // content: unpacked, with `colourings`; on: {set(change), colour({codes, colours, marks})}
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
    const named = [...way.names.keys()], small = named.filter((code) => code >= MOST_STYLES && way.marks[code] !== "faint");
    this.box.replaceChildren();
    this.entries = named.filter((code) => !small.includes(code)).map((code) => this.#entry(code));
    if (small.length) this.#mention(small);
    this.#paint();
  }

  #entry(code) {
    const { title, names, colours, marks } = this.way;
    const item = button("", this.box, () => this.on.set({ filters: toggled(this.filters, title, names[code]) }));
    element("span", "", item, { className: `mark ${marks[code]}` }).style.setProperty("--own", colours[code]);
    item.append(names[code], " ");
    return { item, code, number: element("small", "", item) };
  }

  // Groups that are too many to have a style each.
  #mention(small) {
    const grey = small.filter((code) => this.way.marks[code] === "disc").length, share = small.length - grey;
    const parts = [[share, "share the rings"], [grey, "are grey"]].filter(([count]) => count);
    const text = parts.map(([count, what], part) => `${FIGURES.format(count)}${part ? "" : " smaller ones"} ${what}`).join(", ");
    button(`${text}: all in Filters`, this.box, () => this.on.set({ panel: "filters" })).className = "all";
  }

  // Groups of one style are one group for the map.
  #paint() {
    if (!this.way) return;
    const { codes, colours, marks } = this.way, styles = colours.map((colour, code) => `${colour} ${marks[code]}`);
    const known = [...new Set(styles)], places = styles.map((style) => known.indexOf(style)), parts = known.map((style) => style.split(" "));
    const page = getComputedStyle(document.documentElement).getPropertyValue("--page").trim();
    this.on.colour({
      codes: Uint8Array.from(codes, (code) => places[code]),
      colours: parts.map(([colour, mark]) => (mark === "faint" ? mixed(colour, page, FAINTNESS) : colour)),
      marks: parts.map(([, mark]) => mark),
    });
  }
}

// A colour between two, such as "#8b949e".
function mixed(colour, other, share) {
  const part = (one, place) => parseInt(one.slice(place, place + 2), 16);
  const between = [1, 3, 5].map((place) => Math.round((1 - share) * part(colour, place) + share * part(other, place)));
  return `#${between.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
