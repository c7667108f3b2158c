// @ts-check
"use strict";
// Names of areas and topics on the map, and what is said at single points: the larger group first, none over another.

// Zoom from which a level is shown, and from which it gives way to the next; the last one are quotes.
const LEVELS = [{ from: 0, until: 5 }, { from: 0, until: 20 }, { from: 2.5, until: Infinity }, { from: 0, until: Infinity }];
const QUOTE = 3;
// Pixels between two names; how far a name may go beyond the view before all are put in their places again; pixels of the
// map per name; letters of a line.
const GAP = 4, SPARE = 300, ROOM = 13_000, LETTERS = [24, 22, 22, 34];
// Quotes are shown if at most MOST_POINTS are in view and the map has rested for CALM_MS.
const MOST_POINTS = 40, CALM_MS = 200;

// A text as one or two lines of about the same length, better after a comma; what does not fit ends in an ellipsis.
function wrapped(text, letters) {
  if (text.length <= letters) return [text];
  const cut = (line) => (line.length > letters ? `${line.slice(0, letters - 1).trimEnd()}…` : line);
  const blanks = [...text.matchAll(/\s+/g)].map(({ index }) => index);
  const longest = (at) => Math.max(at, text.length - at - 1);
  const fitting = blanks.filter((at) => longest(at) <= letters), cost = (at) => longest(at) + (text[at - 1] === "," ? 0 : 8);
  if (fitting.length) {
    const best = fitting.reduce((one, other) => (cost(other) < cost(one) ? other : one));
    return [text.slice(0, best), text.slice(best).trim()];
  }
  const first = blanks.filter((at) => at <= letters).pop() ?? letters;
  return [text.slice(0, first), cut(text.slice(first).trim())];
}

// True if two boxes [left, top, right, bottom] share a place, or come closer than a gap.
function overlap(one, other, gap = GAP) {
  return one[0] < other[2] + gap && other[0] < one[2] + gap && one[1] < other[3] + gap && other[1] < one[3] + gap;
}

// Where a name may stand, best first, as the distance of its middle from its place: on it, a little above or below, or
// beside it; a quote never covers its point.
function sidesOf({ level, width, height }) {
  const beside = width / 2 + 14, above = height / 2 + 14;
  if (level === QUOTE) return [[beside, 0], [-beside, 0], [0, above], [0, -above]];
  const shifts = [[0, 0], [0, -height * 0.75], [0, height * 0.75], [width / 3, 0], [-width / 3, 0]];
  return level ? shifts : shifts.concat([[0, -height * 1.5], [0, height * 1.5], [width / 2, 0], [-width / 2, 0]]);
}

// The names to show, with their boxes. names: [{level, x, y, width, height, first}] in the order of importance; page:
// [width, height] within which they lie; blocked: boxes that stay free.
function placedNames(names, page, zoom, blocked = []) {
  const taken = [...blocked], placed = [], most = Math.max((page[0] * page[1]) / ROOM, 8);
  const within = (middle, size, end) => Math.min(Math.max(middle - size / 2, 2), end - size - 2);
  for (const name of names) {
    const { from, until } = LEVELS[name.level];
    if (!name.first && (zoom < from || zoom >= until || placed.length >= most)) continue;
    for (const [dx, dy] of sidesOf(name)) {
      const left = within(name.x + dx, name.width, page[0]), top = within(name.y + dy, name.height, page[1]);
      const box = [left, top, left + name.width, top + name.height];
      if (taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      placed.push({ name, box });
      break;
    }
  }
  return placed;
}

class MapNames {
  // names: one list per map of {text, level, id, x, y, size}. quotes(rows): promise of a text per row, what to say at
  // single points; without it nothing is said.
  constructor(box, points, names, quotes = null) {
    Object.assign(this, { box, points, lists: names, quotes, all: [], placed: [], said: new Map(), selected: null });
    box.replaceChildren();
    this.layer = element("div", "", box);
    this.show(0);
  }

  // Show the names of another map.
  show(map) {
    this.layer.replaceChildren();
    const { count } = this.points;
    this.all = this.lists[map].map((name) => {
      const span = element("span", wrapped(name.text, LETTERS[name.level]).join("\n"), this.layer, { className: `level-${name.level}` });
      if (name.level === 0) element("small", `${Math.round((100 * name.size) / count)}%`, span);
      return { ...name, span, mapX: name.x, mapY: name.y };
    });
    this.said.clear();
    this.size = this.zoom = null;
    this.place();
  }

  // Name a group before all others; null for none. group: [level, id]
  select(group) {
    if (String(group) === String(this.selected)) return;
    this.selected = group;
    for (const name of this.all) {
      name.first = Boolean(group) && name.level === group[0] && name.id === group[1];
      name.span.classList.toggle("selected", name.first);
    }
    this.all.sort((a, b) => Number(b.first) - Number(a.first) || a.level - b.level || a.id - b.id);
    this.zoom = null;
    this.place();
  }

  // Follow the map. While it moves without a zoom, all names move as one.
  place() {
    const { points, layer } = this, size = `${points.width} ${points.height}`;
    layer.style.visibility = points.progress < 1 ? "hidden" : "";
    if (points.progress < 1) return;
    if (size !== this.size) this.#measure();
    this.size = size;
    const origin = this.#origin();
    if (points.zoom !== this.zoom) this.#arrange();
    if (!this.anchor || Math.hypot(origin[0] - this.anchor[0], origin[1] - this.anchor[1]) > SPARE) this.#fix(origin);
    const [x, y] = [0, 1].map((axis) => Math.round(origin[axis] - this.anchor[axis]));
    layer.style.transform = `translate(${x}px, ${y}px)`;
    this.#uncover(origin);
    clearTimeout(this.rest);
    if (this.quotes) this.rest = setTimeout(() => this.#quote(), CALM_MS);
  }

  // The visible name at a place of the page, or null.
  at(x, y) {
    const [left, top] = this.#origin(), place = [x - left, y - top, x - left, y - top];
    return this.placed.find(({ name, box }) => name.visible && overlap(place, box, 0))?.name ?? null;
  }

  // Emphasise one name while the pointer is over it; null for none.
  emphasise(name) {
    if (this.strong === name) return;
    this.strong?.span.classList.remove("strong");
    name?.span.classList.add("strong");
    this.strong = name;
  }

  // The place on the page of the corner of the whole map, which is `zoom` times as large as the view.
  #origin() {
    const { points } = this, [x, y] = points.toPage((points.low[0] + points.high[0]) / 2, (points.low[1] + points.high[1]) / 2);
    return [x - (points.width * points.zoom) / 2, y - (points.height * points.zoom) / 2];
  }

  // Sizes of the names and places of the buttons: the only reads of the layout, after a change of the size.
  #measure() {
    const own = this.box.getBoundingClientRect();
    this.blocked = [...this.box.parentElement.querySelectorAll(".controls")].map((bar) => {
      const { left, top, right, bottom } = bar.getBoundingClientRect();
      return [left - own.left, top - own.top, right - own.left, bottom - own.top];
    });
    for (const name of this.all) [name.width, name.height] = [name.span.offsetWidth, name.span.offsetHeight];
    this.zoom = null;
  }

  // Choose the names for a zoom. The choice does not depend on the part in view, so that moving the map changes nothing.
  #arrange() {
    const { points } = this, { zoom, scale, width, height } = points, page = [width * zoom, height * zoom];
    for (const name of this.all) {
      name.x = (name.mapX - (points.low[0] + points.high[0]) / 2) * scale + page[0] / 2;
      name.y = ((points.low[1] + points.high[1]) / 2 - name.mapY) * scale + page[1] / 2;
    }
    // What is said at a point covers no other point.
    const radius = points.size / 2, discs = this.all.filter(({ level }) => level === QUOTE).map(({ x, y }) => [x - radius, y - radius, x + radius, y + radius]);
    this.placed = placedNames(this.all, page, zoom, discs.concat(zoom === 1 ? this.blocked : []));
    this.zoom = zoom;
    this.anchor = null;
  }

  #fix(origin) {
    this.anchor = origin;
    const shown = new Set(this.placed.map(({ name }) => name));
    for (const name of this.all) if (!shown.has(name)) this.#reveal(name, false);
    for (const { name, box } of this.placed) {
      name.span.style.transform = `translate(${Math.round(box[0] + origin[0])}px, ${Math.round(box[1] + origin[1])}px)`;
    }
  }

  // Hide what leaves the view or comes under the buttons.
  /** @param {number[]} origin */
  #uncover([x, y]) {
    const { width, height } = this.points;
    for (const { name, box } of this.placed) {
      const seen = [box[0] + x, box[1] + y, box[2] + x, box[3] + y];
      const inside = seen[0] >= 0 && seen[1] >= 0 && seen[2] <= width && seen[3] <= height;
      this.#reveal(name, inside && !this.blocked.some((other) => overlap(seen, other)));
    }
  }

  #reveal(name, visible) {
    if (name.visible === visible) return;
    name.visible = visible;
    name.span.style.visibility = visible ? "inherit" : "hidden";
  }

  // Say at the points in view what their dialogues are about, if there are few of them.
  async #quote() {
    const { points } = this, rows = points.inView(MOST_POINTS), map = this.lists;
    const texts = rows.length ? await this.quotes(rows).catch(() => []) : [];
    if (map !== this.lists || rows.join() !== points.inView(MOST_POINTS).join()) return;
    const kept = new Set(rows), before = this.said.size;
    for (const [row, name] of this.said) if (!kept.has(row)) { name.span.remove(); this.said.delete(row); }
    const added = rows.filter((row, i) => texts[i] && !this.said.has(row));
    if (!added.length && this.said.size === before) return;
    for (const row of added) this.said.set(row, this.#saying(row, texts[rows.indexOf(row)]));
    for (const row of added) {
      const name = this.said.get(row);
      [name.width, name.height] = [name.span.offsetWidth, name.span.offsetHeight];
    }
    this.all = this.all.filter(({ level }) => level !== QUOTE).concat([...this.said.values()]);
    this.zoom = null;
    this.place();
  }

  #saying(row, text) {
    const [x, y] = [this.points.places[2 * row], this.points.places[2 * row + 1]];
    const span = element("span", wrapped(text, LETTERS[QUOTE]).join("\n"), this.layer, { className: "quote" });
    return { text, row, level: QUOTE, id: row, span, mapX: x, mapY: y };
  }
}
