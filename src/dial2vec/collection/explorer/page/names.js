// @ts-check
"use strict";
// Names of areas and topics on the map, and what is said at single points: the larger group first, none over another.

// Zoom from which a level is shown, and from which it gives way to the next; how far from its place a name may stand, and
// what this may cost. The last level are quotes.
const LEVELS = [
  { from: 0, until: 5, farthest: 300, dearest: Infinity }, { from: 0, until: 20, farthest: 150, dearest: 400 },
  { from: 2.5, until: Infinity, farthest: 104, dearest: 300 }, { from: 0, until: Infinity, farthest: 24, dearest: Infinity },
];
const QUOTE = 3;
// A name stands around its place, so many pixels from it. It costs the distance, more and more beyond TWICE, and COVERED for
// each pixel of points that it hides. Areas are tried in so many orders. A name keeps its spot unless another costs less
// than this part.
const ANGLES = 24, RINGS = [0, 6, 14, 24, 36, 50, 66, 84, 104, 126, 150, 180, 215, 255, 300];
const TWICE = 200, COVERED = 2, UNPLACED = 2000, TRIES = 8, KEPT = 0.6;
// Pixels between two names, and beside the lines of one; how far a name may go beyond the view before all are put in their
// places again; pixels of the map per name; how far a name is from its place if a line leads there; steps of this line.
const GAP = 4, PADDING = 6, SPARE = 300, ROOM = 13_000, FAR = 26, STEP = 10;
// Areas are named large if there are few. A map that is narrower than this has no room for names of topics at first.
const FEW_AREAS = 10, NARROW = 560;
// Quotes are shown if at most MOST_POINTS are in view and the map has rested for CALM_MS.
const MOST_POINTS = 40, CALM_MS = 200;

const SIDES = Array.from({ length: ANGLES }, (_, i) => (2 * Math.PI * i) / ANGLES).map((angle) => [Math.cos(angle), Math.sin(angle)]);
const SPOTS = RINGS.flatMap((far) => (far ? SIDES : [[0, 0]]).map(([x, y]) => ({ far, x, y })));

const clamped = (value, low, high) => Math.max(Math.min(value, high), low);

// True if two boxes [left, top, right, bottom] share a place, or come closer than a gap.
function overlap(one, other, gap = GAP) {
  return one[0] < other[2] + gap && other[0] < one[2] + gap && one[1] < other[3] + gap && other[1] < one[3] + gap;
}

// The box of a name at a spot around its place, moved into the page.
function boxAt({ x, y, width, height }, { far, ...side }, page) {
  const left = clamped(x + side.x * (far + width / 2) - width / 2, 2, page.width - width - 2);
  const top = clamped(y + side.y * (far + height / 2) - height / 2, 2, page.height - height - 2);
  return [left, top, left + width, top + height];
}

// Small boxes along the line from a box to the place of its name; none if that is near.
function stepsTo({ x, y }, box) {
  const [left, top] = [clamped(x, box[0], box[2]), clamped(y, box[1], box[3])], far = Math.hypot(x - left, y - top), count = Math.ceil(far / STEP);
  const places = Array.from({ length: far > FAR ? count + 1 : 0 }, (_, i) => [left + ((x - left) * i) / count, top + ((y - top) * i) / count]);
  return places.map((place) => [place[0] - 2, place[1] - 2, place[0] + 2, place[1] + 2]);
}

// The best free spot of a name, {name, box, spot, steps, cost}; null if all cost too much. taken: boxes that stay free.
function bestSpot(name, page, taken) {
  const { hidden, zoom, moving } = page, { farthest, dearest } = LEVELS[name.level], [across, down] = [name.width + farthest, name.height + farthest];
  const x = clamped(name.x, 0, page.width), y = clamped(name.y, 0, page.height);
  const near = taken.filter((other) => overlap([x - across, y - down, x + across, y + down], other));
  const free = (box) => !near.some((other) => overlap(box, other));
  let best = null, least = name.first ? Infinity : dearest * zoom;
  for (const spot of moving && !name.first ? [name.spot] : SPOTS) {
    const part = spot === name.spot ? KEPT : 1, distance = part * spot.far * (1 + spot.far / TWICE);
    if (spot.far > farthest || KEPT * spot.far >= least) break;
    if (distance >= least || (name.level === QUOTE && !spot.far)) continue;
    const box = boxAt(name, spot, page), covered = (part * COVERED) / zoom;
    if (distance + covered * hidden(box) >= least || !free(box)) continue;
    const steps = stepsTo(name, box), cost = distance + covered * [box, ...steps].reduce((sum, one) => sum + hidden(one), 0);
    if (cost < least && steps.every(free)) [best, least] = [{ name, box, spot, steps, cost }, cost];
  }
  return best;
}

// The names to show, with their boxes. names: [{level, x, y, width, height, first, from}] in the order of importance; page:
// {width, height, zoom, blocked, hidden, moving}: boxes that stay free, how many pixels of points a box hides, and whether
// the map moves, when each name keeps its spot and no other ones appear.
function placedNames(names, page) {
  const { width, height, zoom, moving, blocked = [] } = page, most = Math.max((width * height) / ROOM, 8);
  const at = ({ level, from = 0 }) => zoom >= Math.max(LEVELS[level].from, from) && zoom < LEVELS[level].until;
  const shown = names.filter((name) => name.first || (at(name) && (!moving || name.spot)));
  const placeAll = (some, placed) => {
    const taken = [...blocked, ...placed.flatMap(({ box, steps }) => [box, ...steps])];
    for (const name of some) {
      const best = (name.first || placed.length < most) && bestSpot(name, page, taken);
      name.cost = best ? best.cost : UNPLACED;
      if (best) placed.push(best);
      if (best) taken.push(best.box, ...best.steps);
    }
    return placed;
  };
  // Areas are few and large: one without a good place is tried before the others.
  let areas = [], least = Infinity, order = shown.filter(({ level }) => level === 0);
  for (let tries = 0; tries < (moving ? 1 : TRIES); tries++) {
    const placed = placeAll(order, []), cost = order.reduce((sum, name) => sum + name.cost, 0);
    if (cost < least) [areas, least] = [placed, cost];
    order = order.toSorted((one, other) => other.cost - one.cost);
  }
  const placed = placeAll(shown.filter(({ level }) => level > 0), areas), spots = new Map(placed.map(({ name, spot }) => [name, spot]));
  for (const name of names) name.spot = spots.get(name);
  return placed;
}

class MapNames {
  // names: one list per map of {text, level, id, x, y, size, colour, change}. quotes(rows): promise of a text per row, what
  // to say at single points; without it nothing is said.
  constructor(box, points, names, quotes = null) {
    Object.assign(this, { box, points, lists: names, quotes, all: [], placed: [], said: new Map(), selected: null });
    [this.layer, this.lines] = [box.firstElementChild, box.querySelector("path")];
    this.show(0);
  }

  // Show the names of another map.
  show(map) {
    this.layer.replaceChildren(this.lines.parentElement);
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

  // Say the shares of the areas, counts of total, and let the names fade of groups of which nothing is lit.
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
    if (size !== this.size) {
      this.#fitAll(this.all);
      this.block();
      this.zoom = null;
    }
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

  // The place on the page of the corner of the whole map, which is `zoom` times as large as the view.
  #origin() {
    const { points } = this, [x, y] = points.toPage((points.low[0] + points.high[0]) / 2, (points.low[1] + points.high[1]) / 2);
    return [x - (points.width * points.zoom) / 2, y - (points.height * points.zoom) / 2];
  }

  // Keep free what lies over the map: the buttons, and what it says.
  block() {
    const own = this.box.getBoundingClientRect();
    this.blocked = [...this.box.parentElement.querySelectorAll(".controls, #choices, #where:not(.middle)")].map((bar) => {
      const { left, top, right, bottom } = bar.getBoundingClientRect();
      return [left - own.left, top - own.top, right - own.left, bottom - own.top];
    });
    if (this.anchor) this.#uncover(this.#origin());
  }

  // Measure names: with those above, the only reads of the layout. A box that breaks a text is wider than its lines.
  #fitAll(names) {
    const range = document.createRange();
    for (const { span } of names) span.style.width = "";
    for (const name of names) {
      range.selectNodeContents(name.span);
      [name.width, name.height] = [Math.ceil(range.getBoundingClientRect().width) + PADDING, Math.ceil(name.span.getBoundingClientRect().height)];
    }
    for (const { span, width } of names) span.style.width = `${width}px`;
  }

  // Choose the names for a zoom. The choice does not depend on the part in view, so that moving the map changes nothing.
  #arrange() {
    const { points } = this, { zoom, scale, moving } = points, [width, height] = [points.width * zoom, points.height * zoom];
    const [midX, midY] = [0, 1].map((axis) => (points.low[axis] + points.high[axis]) / 2);
    for (const name of this.all) [name.x, name.y] = [(name.mapX - midX) * scale + width / 2, (midY - name.mapY) * scale + height / 2];
    // What is said at a point covers no other point.
    const radius = points.size / 2, sayings = this.all.filter(({ level }) => level === QUOTE);
    const discs = sayings.map(({ x, y }) => [x - radius, y - radius, x + radius, y + radius]);
    for (const name of this.all) name.from = points.width < NARROW && name.level === 1 && !name.change ? 2 : 0;
    const { grid } = points, mapX = (x) => (x - width / 2) / scale + midX, mapY = (y) => midY - (y - height / 2) / scale;
    // Points lie over each other.
    const hidden = ([left, top, right, bottom]) => {
      const pixels = (right - left) * (bottom - top), count = grid.count(mapX(left), mapY(bottom), mapX(right), mapY(top));
      return pixels * (1 - Math.exp((-Math.PI * radius * radius * count) / pixels));
    };
    this.placed = placedNames(this.all, { width, height, zoom, moving, hidden, blocked: discs.concat(zoom === 1 ? this.blocked : []) });
    this.loose = moving;
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
    const lined = this.placed.filter(({ name, steps }) => name.visible && steps.length);
    if (this.changed) this.lines.setAttribute("d", lined.map((one) => this.#line(one)).join(""));
    this.changed = false;
  }

  #line({ steps }) {
    const ends = [steps[0], steps[steps.length - 1]].map(([x, y]) => [x + 2 + this.anchor[0], y + 2 + this.anchor[1]].map(Math.round).join(" "));
    return `M${ends.join("L")}`;
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
