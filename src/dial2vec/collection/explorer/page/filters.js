// @ts-check
"use strict";
// Filters: a histogram per key, whose values are conditions, and a brush over time.

// A longer histogram shows its ten largest values until all are wanted; a brush has at most 120 columns.
const FEW_VALUES = 10, MOST_BINS = 120, DAY_MS = 86_400_000;
// Time after the last key before the dates become a condition.
const KEYS_MS = 300;
const FIGURES = new Intl.NumberFormat("en");

class Filters {
  // content: unpacked, with `colourings` and `dates`; on: {set(change)}
  constructor(box, content, on) {
    Object.assign(this, { box, on });
    this.take(content);
  }

  // Take over other content.
  take({ colourings, dates }) {
    const bins = binsOf(dates), time = colourings.find(({ kind }) => kind === "time");
    this.box.replaceChildren();
    const note = element("p", "", this.box, { className: "soft key-note" });
    const kinds = [["all", "Share of all conversations"], ["shown", "Share of those shown"]];
    for (const [kind, text] of kinds) element("i", "", element("span", text, note, { className: "swatch" }), { className: kind });
    this.brush = bins && time && new Brush(this.box, bins, time, this.on);
    // Areas and topics have a view of their own, so they are the last here; the brush is better than the periods.
    const late = ({ title }) => Number(title === "area" || title === "topic");
    const keys = colourings.filter(({ kind, names }) => names.length > 1 && !(kind === "time" && this.brush));
    this.histograms = keys.sort((a, b) => late(a) - late(b)).map((way) => new Histogram(this.box, way, this.on));
    this.first = colourings[0].title;
    if (!this.brush && !keys.length) element("p", "These conversations have no labels, dates or metadata to filter by.", this.box);
  }

  // view: {state, passes(name): the mask of what meets all conditions but that of a name}
  update({ state, passes }) {
    if (state.panel !== "filters") return;
    const all = passes(""), colour = state.colour ?? this.first;
    for (const histogram of this.histograms) {
      const { title } = histogram.way, chosen = chosenOf(state.filters, title);
      histogram.show(chosen.length ? passes(`key ${title}`) : all, state.filters, colour === title);
    }
    this.brush?.show(state.span ? passes("span") : all, state, colour);
  }
}

// The values of one key as buttons: bars below each other, or columns for numbers, which have an order of their own.
class Histogram {
  constructor(parent, way, on) {
    Object.assign(this, { way, on, values: new Map(), whole: false, filters: {}, coloured: false });
    const box = element("section", "", parent, { className: "key" }), head = element("div", "", box, { className: "key-head" });
    const title = element("h2", `${way.title} `, head);
    this.told = element("small", "", title);
    this.any = button("Any", head, () => on.set({ filters: without(this.filters, way.title) }));
    this.colour = button("Colour", head, () => on.set({ colour: way.title }));
    this.any.setAttribute("aria-label", `Any ${way.title}`);
    this.colour.setAttribute("aria-label", `Colour the map by ${way.title}`);
    this.list = element("div", "", box, { className: way.kind === "number" ? "columns" : "bars" });
    this.list.setAttribute("role", "group");
    this.list.setAttribute("aria-label", way.title);
    this.scaled = way.kind === "number" ? way.marks.filter((mark) => mark !== "faint").length : way.names.length;
    this.list.style.setProperty("--columns", String(this.scaled));
    this.list.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("pointerleave", () => { this.told.textContent = ""; });
    this.more = button("", box, () => { this.whole = !this.whole; this.#draw(); });
    this.more.hidden = way.kind === "number" || way.names.length <= FEW_VALUES;
  }

  // mask: what meets all other conditions; coloured: true if the map has the colours of this key.
  show(mask, filters, coloured) {
    const { way, scaled } = this;
    Object.assign(this, { filters, coloured, chosen: chosenOf(filters, way.title) });
    this.counts = countsOf(way.codes, mask, way.names.length);
    this.lengths = lengthsOf(way.counts.slice(0, scaled), this.counts.subarray(0, scaled));
    this.list.classList.toggle("chosen", this.chosen.length > 0);
    this.any.hidden = !this.chosen.length;
    this.colour.setAttribute("aria-pressed", String(coloured));
    this.#draw();
  }

  // Of hundreds of values only those in sight have buttons.
  #draw() {
    const { way, counts, lengths } = this, codes = this.#codes();
    for (const code of codes) if (!this.values.has(code)) this.values.set(code, this.#value(way.names[code], code));
    const focused = document.activeElement, items = codes.map((code) => this.values.get(code).item);
    if (items.length !== this.list.children.length || items.some((item, place) => item !== this.list.children[place])) {
      this.list.replaceChildren(...items);
      if (items.includes(focused)) focused.focus();
    }
    for (const code of codes) {
      const { item, bars, number } = this.values.get(code);
      // Beside columns, those without a number have a bar of their own kind.
      const shares = lengths[code] ?? [way.counts[code] / sum(way.counts), counts[code] / (sum(counts) || 1)];
      bars.forEach((bar, i) => bar.style.setProperty("--share", shares[i].toFixed(4)));
      item.style.setProperty("--own", this.coloured ? way.colours[code] : "var(--heat)");
      item.setAttribute("aria-pressed", String(this.chosen.includes(way.names[code])));
      item.classList.toggle("empty", !counts[code]);
      number.textContent = this.#said(code);
    }
    this.more.textContent = this.whole ? `Show the ${FEW_VALUES} largest` : `Show all ${way.names.length}`;
    this.more.setAttribute("aria-expanded", String(this.whole));
    this.#reach();
  }

  // The values in sight: few stay in their places; of many, the ten with most dialogues, and the chosen ones.
  #codes() {
    const { counts, chosen, whole } = this, { names } = this.way, codes = [...names.keys()];
    if (this.more.hidden) return codes;
    const order = codes.sort((a, b) => counts[b] - counts[a] || a - b);
    return whole ? order : order.filter((code, place) => place < FEW_VALUES || chosen.includes(names[code]));
  }

  #said(code) {
    const [count, of] = [this.counts[code], this.way.counts[code]].map((number) => FIGURES.format(number));
    return count === of ? of : `${count} of ${of}`;
  }

  #value(name, code) {
    const item = button("", null, () => this.on.set({ filters: toggled(this.filters, this.way.title, name) }));
    const isColumn = this.way.kind === "number" && code < this.scaled;
    item.className = isColumn ? "column" : "choice";
    item.tabIndex = -1;
    element("span", name, item, { className: isColumn ? "unseen" : "value", title: name });
    const bar = element("span", "", item, { className: "measure" }), bars = ["all", "shown"].map((kind) => element("i", "", bar, { className: kind }));
    item.append(" ");
    const number = element("span", "", item, { className: isColumn ? "unseen" : "number" });
    if (isColumn) {
      element("span", tickOf(name), item, { className: "tick", ariaHidden: "true" });
      for (const event of ["pointerenter", "focus"]) item.addEventListener(event, () => this.#tell(code));
    }
    return { item, bars, number };
  }

  #tell(code) {
    this.told.textContent = `${this.way.names[code]}: ${this.#said(code)}`;
  }

  // One value is reached by Tab, the others from it by arrow keys.
  #reach(item = null) {
    const items = [...this.list.children], one = item ?? items.find(({ tabIndex }) => tabIndex === 0) ?? items[0];
    for (const other of items) other.tabIndex = other === one ? 0 : -1;
  }

  #key(event) {
    const items = [...this.list.children], place = items.indexOf(event.target), last = items.length - 1;
    const next = { ArrowDown: place + 1, ArrowRight: place + 1, ArrowUp: place - 1, ArrowLeft: place - 1, Home: 0, End: last }[event.key];
    if (next === undefined || place < 0) return;
    event.preventDefault();
    const item = items[Math.min(Math.max(next, 0), last)];
    this.#reach(item);
    item.focus();
  }
}

// Columns over time, of which a part is chosen by dragging, or by two sliders.
class Brush {
  // way: the colouring by time, which has fewer and longer periods
  constructor(parent, { bins, unit, codes }, way, on) {
    Object.assign(this, { bins, codes, way, on, filters: {}, last: bins.length - 1, span: null, wanted: null });
    this.all = countsOf(codes, new Uint8Array(codes.length).fill(1), bins.length + 1);
    const box = element("section", "", parent, { className: "key" }), head = element("div", "", box, { className: "key-head" });
    const title = element("h2", "Time ", head);
    element("small", `by ${unit}`, title);
    this.any = button("All time", head, () => this.#clear());
    this.colour = button("Colour", head, () => on.set({ colour: way.title }));
    this.colour.setAttribute("aria-label", `Colour the map by ${way.title}`);
    this.own = bins.map((_, bin) => way.colours[way.codes[codes.indexOf(bin)]] ?? "");
    this.area = element("div", "", box, { className: "brush" });
    const columns = element("div", "", this.area, { className: "brush-columns", ariaHidden: "true" });
    this.columns = bins.map(() => {
      const column = element("span", "", columns, { className: "measure" });
      return [column, ...["all", "shown"].map((kind) => element("i", "", column, { className: kind }))];
    });
    const axis = element("div", "", box, { className: "axis", ariaHidden: "true" });
    for (const { at, text } of ticksOf(bins)) element("span", text, axis).style.setProperty("--at", at.toFixed(4));
    this.handles = ["From", "To"].map((name, end) => this.#handle(name, end));
    const line = element("p", "", box, { className: "ends" });
    element("span", bins[0].from, line);
    this.told = element("strong", "", line);
    element("span", bins[this.last].to, line);
    this.#listen();
  }

  show(mask, { span, filters }, colour) {
    Object.assign(this, { span, filters });
    this.colour.setAttribute("aria-pressed", String(colour === this.way.title));
    const counts = countsOf(this.codes, mask, this.bins.length + 1).subarray(0, this.bins.length);
    const all = this.all.subarray(0, this.bins.length), lengths = lengthsOf(all, counts);
    this.columns.forEach(([column, ...bars], bin) => {
      bars.forEach((bar, i) => bar.style.setProperty("--share", lengths[bin][i].toFixed(4)));
      column.style.setProperty("--own", (colour === this.way.title && this.own[bin]) || "var(--heat)");
      const { from, to } = this.bins[bin];
      column.title = `${textOf([from, to])}: ${FIGURES.format(counts[bin])} of ${FIGURES.format(all[bin])}`;
    });
    this.#place(this.wanted ?? rangeOf(this.bins, span));
  }

  // Show a range of columns as chosen, before it is a condition.
  #want(range) {
    this.wanted = range;
    this.#place(range);
  }

  #place(range) {
    this.range = range;
    const [from, to] = range, width = this.bins.length, span = this.wanted ? this.#spanOf(range) : this.span;
    this.area.style.setProperty("--from", String(from / width));
    this.area.style.setProperty("--to", String((to + 1) / width));
    this.area.classList.toggle("chosen", span !== null);
    this.columns.forEach(([column], bin) => column.classList.toggle("out", bin < from || bin > to));
    this.any.hidden = span === null && !chosenOf(this.filters, this.way.title).length;
    this.told.textContent = span ? textOf(/** @type {[string, string]} */ (span)) : "";
    this.handles.forEach((handle, end) => {
      const { from: day, to: until } = this.bins[range[end]];
      const [least, most] = end ? [from, this.last] : [0, to];
      for (const [name, value] of [["min", least], ["max", most], ["now", range[end]], ["text", end ? until : day]]) {
        handle.setAttribute(`aria-value${name}`, String(value));
      }
    });
  }

  // The dates of a range of columns; null for all of them.
  /** @param {number[]} range */
  #spanOf([from, to]) {
    return from > 0 || to < this.last ? [this.bins[from].from, this.bins[to].to] : null;
  }

  // Make a range of columns a condition.
  #choose(range) {
    clearTimeout(this.pause);
    this.wanted = null;
    const span = this.#spanOf(range);
    if (String(span) !== String(this.span)) this.on.set({ span });
    else this.#place(range);
  }

  // All time, also without the periods that were chosen in the legend.
  #clear() {
    this.wanted = null;
    this.on.set({ span: null, filters: without(this.filters, this.way.title) });
  }

  #handle(name, end) {
    const handle = element("span", "", this.area, { className: `handle ${name.toLowerCase()}`, tabIndex: 0 });
    handle.setAttribute("role", "slider");
    handle.setAttribute("aria-label", name);
    handle.addEventListener("keydown", (event) => this.#key(event, end));
    return handle;
  }

  #key(event, end) {
    const far = Math.max(1, Math.round(this.bins.length / 10)), { range, last } = this;
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -far, PageUp: far, Home: -last, End: last };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const place = range[end] + steps[event.key];
    this.#want(end ? [range[0], Math.min(Math.max(place, range[0]), last)] : [Math.min(Math.max(place, 0), range[1]), range[1]]);
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.#choose(this.range), KEYS_MS);
  }

  // A drag of an end moves it, of the chosen part moves both, and elsewhere chooses other columns; a click chooses one column.
  #listen() {
    let drag = null;
    this.area.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const end = this.handles.indexOf(event.target), bin = this.#binAt(event.clientX), [from, to] = this.range;
      const held = end < 0 && this.area.classList.contains("chosen") && bin >= from && bin <= to;
      drag = { end, bin, held, range: this.range, moved: false };
      this.area.setPointerCapture(event.pointerId);
    });
    this.area.addEventListener("pointermove", (event) => {
      const bin = this.#binAt(event.clientX);
      if (!drag || (bin === drag.bin && !drag.moved)) return;
      drag.moved = true;
      this.#want(draggedRange(drag, bin, this.last));
    });
    this.area.addEventListener("pointerup", () => {
      if (drag && (drag.moved || drag.end < 0)) this.#choose(drag.moved ? this.range : [drag.bin, drag.bin]);
      drag = null;
    });
    this.area.addEventListener("pointercancel", () => {
      drag = this.wanted = null;
      this.#place(rangeOf(this.bins, this.span));
    });
    this.area.addEventListener("dblclick", () => this.#clear());
  }

  #binAt(x) {
    const { left, width } = this.area.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((x - left) / width) * this.bins.length), 0), this.last);
  }
}

// A button that looks like a link, unless the style says otherwise.
function button(text, parent, act, options = {}) {
  const made = element("button", text, parent, { type: "button", ...options });
  made.addEventListener("click", act);
  return made;
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

// The number of rows per code among those of the mask. codes: a code below `size` per row; mask: 0 or 1 per row.
function countsOf(codes, mask, size) {
  const counts = new Uint32Array(size);
  for (let row = 0; row < codes.length; row++) counts[codes[row]] += mask[row];
  return counts;
}

// Lengths of two bars per group, as shares of the longest: for its share of all, and its share of those shown.
function lengthsOf(all, shown) {
  const [whole, some] = [sum(all) || 1, sum(shown) || 1];
  const shares = Array.from(all, (count, place) => [count / whole, shown[place] / some]), longest = Math.max(...shares.flat()) || 1;
  return shares.map((pair) => pair.map((share) => share / longest));
}

// The chosen values of a key, which may have any name, such as "constructor".
const chosenOf = (filters, title) => (Object.hasOwn(filters, title) ? filters[title] : []);

const without = (filters, title) => Object.fromEntries(Object.entries(filters).filter(([key]) => key !== title));

// The filters with one value of a key added, or taken away if it is among them.
function toggled(filters, title, name) {
  const chosen = chosenOf(filters, title), rest = chosen.filter((one) => one !== name);
  const names = rest.length < chosen.length ? rest : [...chosen, name];
  return names.length ? { ...filters, [title]: names } : without(filters, title);
}

// The range of columns after a drag from one column to another.
function draggedRange({ end, bin: first, held, range: [from, to] }, bin, last) {
  if (end === 0) return [Math.min(bin, to), to];
  if (end === 1) return [from, Math.max(bin, from)];
  if (!held) return [Math.min(first, bin), Math.max(first, bin)];
  const by = Math.min(Math.max(bin - first, -from), last - to);
  return [from + by, to + by];
}

// The range of columns that a span of dates touches; all for null.
function rangeOf(bins, span) {
  const last = bins.length - 1;
  if (!span) return [0, last];
  const from = bins.findIndex(({ to }) => to >= span[0]), to = bins.findLastIndex((bin) => bin.from <= span[1]);
  const [first, second] = [from < 0 ? last : from, Math.max(to, 0)];
  return [Math.min(first, second), Math.max(first, second)];
}

// At most six first columns of a month, with its name, or of a year; none at the right edge, where it has no room.
function ticksOf(bins) {
  const monthOf = new Intl.DateTimeFormat("en", { month: "short", timeZone: "UTC" }), [{ from }] = bins;
  const years = Number(bins.at(-1).to.slice(0, 4)) - Number(from.slice(0, 4)) > 2, length = years ? 4 : 7;
  const first = [...bins.keys()].filter((bin) => bin && bins[bin].from.slice(0, length) !== bins[bin - 1].from.slice(0, length));
  const step = Math.ceil(first.length / 6);
  return first.filter((bin, place) => place % step === 0 && bin < .94 * bins.length).map((bin) => ({ at: bin / bins.length, text: years ? bins[bin].from.slice(0, 4) : monthOf.format(new Date(bins[bin].from)) }));
}

// Where a range of numbers such as "16 to 25.5" begins, in a few characters.
function tickOf(name) {
  const [begin] = name.split(" to ");
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  return begin.length <= 4 ? begin : short.format(Number(begin));
}

/** @param {string[]} span */
const textOf = ([from, to]) => (from === to ? from : `${from} to ${to}`);

// Units of time, fine to coarse: the number of the unit that has a day, and the first day of that number.
const UNITS = [
  { unit: "day", numberOf: (day) => day, startOf: (number) => number },
  { unit: "week", numberOf: (day) => Math.floor((day + 3) / 7), startOf: (number) => 7 * number - 3 },
  ...[["month", 1], ["quarter", 3], ["year", 12], ["10 years", 120], ["100 years", 1200]].map(([unit, months]) => ({
    unit,
    numberOf: (day) => {
      const date = new Date(day * DAY_MS);
      return Math.floor((12 * date.getUTCFullYear() + date.getUTCMonth()) / Number(months));
    },
    startOf: (number) => new Date(0).setUTCFullYear(0, number * Number(months), 1) / DAY_MS,
  })),
];

// Columns for dates, such as "2026-01-31", "" for none: {unit, bins: [{from, to}, ...], codes: the bin of each date,
// bins.length for none}; null if the dates fill no two columns.
function binsOf(dates) {
  const days = new Map();
  for (const date of dates) if (date && !days.has(date)) days.set(date, Date.parse(date) / DAY_MS);
  let [first, last] = [Infinity, -Infinity];
  for (const day of days.values()) [first, last] = [day < first ? day : first, day > last ? day : last];
  if (!(first < last)) return null;
  const isFine = ({ numberOf }) => numberOf(last) - numberOf(first) < MOST_BINS;
  const { unit, numberOf, startOf } = UNITS.find(isFine) ?? UNITS[UNITS.length - 1], begin = numberOf(first);
  const dateOf = (day) => new Date(day * DAY_MS).toISOString().slice(0, 10);
  const bins = Array.from({ length: numberOf(last) - begin + 1 }, (_, bin) => ({
    from: dateOf(Math.max(startOf(begin + bin), first)),
    to: dateOf(Math.min(startOf(begin + bin + 1) - 1, last)),
  }));
  const codes = Uint16Array.from(dates, (date) => {
    const day = days.get(date);
    return Number.isFinite(day) ? numberOf(day) - begin : bins.length;
  });
  return { unit, bins, codes };
}
