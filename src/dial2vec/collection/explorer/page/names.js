// @ts-check
"use strict";
// Names of areas and topics on the map, and what is said at single points: the larger group first, none over another.

// Zoom from which a level is shown, and from which it gives way to the next; the last one are quotes.
const LEVELS = [{ from: 0, until: 5 }, { from: 0, until: 20 }, { from: 2.5, until: Infinity }, { from: 0, until: Infinity }];
const QUOTE = 3;
// Pixels between two names, and beside the lines of one; how far a name may go beyond the view before all are put in their places again; pixels of the
// map per name.
const GAP = 4, PADDING = 6, SPARE = 300, ROOM = 13_000;
// Where a name may stand: around its place, with so many pixels between them, the nearest first. How far names of a level
// may go, and what they may cost: the distance, more and more beyond TWICE, and COVERED for each hidden pixel of points.
const ANGLES = 24, RINGS = [0, 6, 14, 24, 36, 50, 66, 84, 104, 126, 150, 180, 215, 255, 300], FARTHEST = [300, 150, 104, 24];
const COVERED = 2, TWICE = 200, DEAREST = [Infinity, 400, 300, Infinity], UNPLACED = 2000;
// Orders in which areas are tried. A name keeps its spot while the map is zoomed unless another costs less than this part.
const TRIES = 8, KEPT = 0.6;
// A line leads to a name that stands farther than this, and ends so many pixels before its place; other names keep away
// from points on it.
const FAR = 26, SHORT = 3, STEP = 10;
// Areas are named large if there are few. A map that is narrower than this has no room for names of topics at first.
const FEW_AREAS = 10, NARROW = 560;
// Quotes are shown if at most MOST_POINTS are in view and the map has rested for CALM_MS.
const MOST_POINTS = 40, CALM_MS = 200;

const SPOTS = RINGS.flatMap((far) => Array.from({ length: far ? ANGLES : 1 }, (_, i) => {
  const angle = (2 * Math.PI * i) / ANGLES;
  return { far, x: far ? Math.cos(angle) : 0, y: far ? Math.sin(angle) : 0 };
}));

// True if two boxes [left, top, right, bottom] share a place, or come closer than a gap.
function overlap(one, other, gap = GAP) {
  return one[0] < other[2] + gap && other[0] < one[2] + gap && one[1] < other[3] + gap && other[1] < one[3] + gap;
}

// The box of a name at a spot around its place, moved into the page.
function boxAt({ x, y, width, height }, spot, page) {
  const within = (middle, size, end) => Math.min(Math.max(middle - size / 2, 2), end - size - 2);
  const left = within(x + spot.x * (spot.far + width / 2), width, page[0]);
  const top = within(y + spot.y * (spot.far + height / 2), height, page[1]);
  return [left, top, left + width, top + height];
}

// The line from a box to the place of its name, [[x, y], [x, y]], if the box stands far from it.
function lineTo({ x, y }, [left, top, right, bottom]) {
  const from = [Math.min(Math.max(x, left), right), Math.min(Math.max(y, top), bottom)], far = Math.hypot(x - from[0], y - from[1]);
  return far < FAR ? null : [from, [x + ((from[0] - x) * SHORT) / far, y + ((from[1] - y) * SHORT) / far]];
}

// Boxes along a line, which other names leave free.
function stepsOf(line) {
  if (!line) return [];
  const [[x, y], end] = line, across = end[0] - x, down = end[1] - y, count = Math.ceil(Math.hypot(across, down) / STEP);
  return Array.from({ length: count }, (_, i) => [x + (across * (i + 1)) / count, y + (down * (i + 1)) / count]).map(([left, top]) => [left - 2, top - 2, left + 2, top + 2]);
}

// The best free spot of a name, {name, box, spot, line, steps, cost}; null if all cost too much. page: [width, height, zoom,
// moving]; while the map moves a name stays where it is. taken: boxes that stay free.
function bestSpot(name, page, taken, hidden) {
  const [, , zoom, moving] = page, covered = COVERED / zoom, far = FARTHEST[name.level];
  const around = [name.x - name.width - far, name.y - name.height - far, name.x + name.width + far, name.y + name.height + far];
  const near = taken.filter((other) => overlap(around, other)), free = (own) => !near.some((other) => overlap(own, other));
  let best = null, least = name.first ? Infinity : DEAREST[name.level] * zoom;
  for (const spot of moving && !name.first ? [name.spot] : SPOTS) {
    const part = spot === name.spot ? KEPT : 1;
    let cost = part * spot.far * (1 + spot.far / TWICE);
    if (spot.far > far || KEPT * spot.far >= least) break;
    if (cost >= least || (name.level === QUOTE && !spot.far)) continue;
    const box = boxAt(name, spot, page);
    cost += part * covered * hidden(box);
    if (cost >= least || !free(box)) continue;
    const line = lineTo(name, box), steps = stepsOf(line);
    cost += part * covered * steps.reduce((sum, step) => sum + hidden(step), 0);
    if (cost < least && steps.every(free)) [best, least] = [{ name, box, spot, line, steps, cost }, cost];
  }
  return best;
}

// The names to show, with their boxes. names: [{level, x, y, width, height, first, from}] in the order of importance; page:
// [width, height] within which they lie; blocked: boxes that stay free; hidden(box): pixels of points that a box hides;
// moving: true while the map moves, when no other names appear.
function placedNames(names, [width, height], zoom, blocked = [], hidden = (box) => 0, moving = false) {
  const page = [width, height, zoom, moving], most = Math.max((page[0] * page[1]) / ROOM, 8);
  const shown = names
    .filter(({ level, first, from = 0 }) => first || (zoom >= Math.max(LEVELS[level].from, from) && zoom < LEVELS[level].until))
    .filter((name) => !moving || name.first || name.spot);
  const placeAll = (some, before) => {
    const placed = [...before], taken = [...blocked, ...before.flatMap(({ box, steps }) => [box, ...steps])];
    for (const name of some) {
      const best = (name.first || placed.length < most) && bestSpot(name, page, taken, hidden);
      if (!best) continue;
      placed.push(best);
      taken.push(best.box, ...best.steps);
    }
    return placed;
  };
  // Areas are few and large: if one has no good place, it is tried before the others.
  let order = shown.filter(({ level }) => level === 0), areas = [], least = Infinity;
  for (let tries = 0; tries < (moving ? 1 : TRIES) && order.length; tries++) {
    const placed = placeAll(order, []), known = new Map(placed.map((one) => [one.name, one.cost])), costOf = (name) => known.get(name) ?? UNPLACED;
    const cost = order.reduce((sum, name) => sum + costOf(name), 0), dearest = order.reduce((one, other) => (costOf(other) > costOf(one) ? other : one));
    if (cost < least) [areas, least] = [placed, cost];
    order = [dearest, ...order.filter((name) => name !== dearest)];
  }
  const placed = placeAll(shown.filter(({ level }) => level > 0), areas);
  for (const name of names) name.spot = null;
  for (const { name, spot } of placed) name.spot = spot;
  return placed;
}

class MapNames {
  // names: one list per map of {text, level, id, x, y, size, colour, change}. quotes(rows): promise of a text per row, what to say at
  // single points; without it nothing is said.
  constructor(box, points, names, quotes = null) {
    Object.assign(this, { box, points, lists: names, quotes, all: [], placed: [], said: new Map(), selected: null });
    box.replaceChildren();
    this.layer = element("div", "", box);
    this.lines = document.createElementNS("http://www.w3.org/2000/svg", "path");
    this.drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.drawing.append(this.lines);
    this.show(0);
  }

  // Show the names of another map.
  show(map) {
    this.layer.replaceChildren(this.drawing);
    const { count } = this.points, few = this.lists[map].filter(({ level }) => level === 0).length <= FEW_AREAS;
    this.all = this.lists[map].map((name) => {
      const span = element("span", name.text, this.layer, { className: name.level || few ? `level-${name.level}` : "level-1" });
      span.style.setProperty("--own", name.colour ?? "var(--ink)");
      const share = name.level === 0 && element("small", percent(name.size / count), span);
      return { ...name, span, share, mapX: name.x, mapY: name.y };
    });
    this.said.clear();
    this.size = this.zoom = null;
    this.place();
  }

  // Say the shares of the areas among what is shown, and let the names fade whose groups have none of it. counts: of the
  // groups per level; lit: the same of what is shown strongly; total: of all.
  tell(counts, lit, total) {
    for (const { level, id, share, span } of this.all) {
      if (share) share.textContent = percent(counts[0][id] / Math.max(1, total));
      span.classList.toggle("faded", level < QUOTE && !lit[level][id]);
    }
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
    if (points.zoom !== this.zoom || (this.loose && !points.moving)) this.#arrange();
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
    this.#fitAll(this.all);
    this.zoom = null;
  }

  // A box that breaks a text is wider than its lines.
  #fitAll(names) {
    const range = document.createRange();
    for (const { span } of names) span.style.width = "";
    for (const name of names) {
      range.selectNodeContents(name.span);
      [name.width, name.height] = [Math.ceil(range.getBoundingClientRect().width) + PADDING, name.span.offsetHeight];
    }
    for (const { span, width } of names) span.style.width = `${width}px`;
  }

  // Choose the names for a zoom. The choice does not depend on the part in view, so that moving the map changes nothing.
  #arrange() {
    const { points } = this, { zoom, scale, width, height } = points, page = [width * zoom, height * zoom];
    const [midX, midY] = [0, 1].map((axis) => (points.low[axis] + points.high[axis]) / 2);
    for (const name of this.all) [name.x, name.y] = [(name.mapX - midX) * scale + page[0] / 2, (midY - name.mapY) * scale + page[1] / 2];
    // What is said at a point covers no other point.
    const radius = points.size / 2, discs = this.all.filter(({ level }) => level === QUOTE).map(({ x, y }) => [x - radius, y - radius, x + radius, y + radius]);
    const narrow = width < NARROW, onMap = (x, y) => [(x - page[0] / 2) / scale + midX, midY - (y - page[1] / 2) / scale];
    for (const name of this.all) name.from = narrow && name.level === 1 && !name.change ? 2 : 0;
    const hides = points.hides(), hidden = ([left, top, right, bottom]) => hides(...onMap(left, bottom), ...onMap(right, top));
    this.loose = points.moving;
    this.placed = placedNames(this.all, page, zoom, discs.concat(zoom === 1 ? this.blocked : []), hidden, points.moving);
    this.zoom = zoom;
    this.anchor = null;
  }

  #fix(origin) {
    [this.anchor, this.changed] = [origin, true];
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
    if (this.changed) this.lines.setAttribute("d", this.placed.map((one) => (one.name.visible ? this.#line(one) : "")).join(""));
    this.changed = false;
  }

  #line({ line }) {
    return line ? `M${line.map((place) => place.map((value, axis) => Math.round(value + this.anchor[axis])).join(" ")).join("L")}` : "";
  }

  #reveal(name, visible) {
    if (name.visible === visible) return;
    this.changed = true;
    name.visible = visible;
    name.span.style.visibility = visible ? "inherit" : "hidden";
  }

  // Say at the points in view what their dialogues are about, if there are few of them.
  async #quote() {
    const { points } = this, rows = points.inView(MOST_POINTS) ?? [], map = this.lists;
    const texts = rows.length ? await this.quotes(rows).catch(() => []) : [];
    if (map !== this.lists || rows.join() !== String(points.inView(MOST_POINTS) ?? [])) return;
    const kept = new Set(rows), before = this.said.size;
    for (const [row, name] of this.said) if (!kept.has(row)) { name.span.remove(); this.said.delete(row); }
    const added = rows.filter((row, i) => texts[i] && !this.said.has(row));
    if (!added.length && this.said.size === before) return;
    for (const row of added) this.said.set(row, this.#saying(row, texts[rows.indexOf(row)]));
    this.#fitAll(added.map((row) => this.said.get(row)));
    this.all = this.all.filter(({ level }) => level !== QUOTE).concat([...this.said.values()]);
    this.zoom = null;
    this.place();
  }

  #saying(row, text) {
    const [x, y] = [this.points.places[2 * row], this.points.places[2 * row + 1]];
    const span = element("span", text, this.layer, { className: "quote" });
    return { text, row, level: QUOTE, id: row, span, mapX: x, mapY: y };
  }
}
