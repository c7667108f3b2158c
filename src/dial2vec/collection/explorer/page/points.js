// @ts-check
"use strict";
// The map: its points, the view of them, and the point under a finger.

const HIDDEN = 0, FAINT = 1, SHOWN = 2;
// The map comes no closer when only FEWEST points are in view. A grid has at least FINEST cells on a side.
const CLOSEST = 400, FEWEST = 30, FINEST = 256, MARGIN = 0.06, SWITCH_MS = 700;
// The map rests when it has not moved for this long.
const REST_MS = 150;

class Points {
  // canvas: takes the gestures; a sheet with the picture is put under it. maps: places of the same points, one Float32Array
  // [x, y, ...] per map, the first one shown first; the full view contains the points of all maps. onDraw is called after
  // every frame.
  constructor(canvas, maps, onDraw) {
    const [places] = maps;
    Object.assign(this, { canvas, onDraw, count: places.length / 2, progress: 1, moving: false, stale: true });
    this.places = this.before = places;
    this.groups = new Uint8Array(this.count);
    this.shown = new Uint8Array(this.count).fill(SHOWN);
    this.sheet = Object.assign(document.createElement("canvas"), { className: "sheet" });
    this.sheet.setAttribute("aria-hidden", "true");
    this.picture = new Picture(this.sheet, this.count, () => this.#fillAll());
    canvas.before(this.sheet);
    this.#enclose(maps);
    this.#fillAll();
    this.#fit();
    new ResizeObserver(() => this.#fit()).observe(canvas);
    this.showAll();
  }

  // Move the points to other places, without animation if the user prefers reduced motion. maps: the maps that are there
  // from now on, if they are others.
  moveTo(places, maps) {
    if (maps) this.#enclose(maps);
    this.before = this.places;
    this.places = places;
    this.cells = null;
    this.picture.fill("from", this.before);
    this.picture.fill("to", places);
    const began = performance.now(), still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = (now) => {
      const share = still ? 1 : Math.min(Math.max((now - began) / SWITCH_MS, 0), 1);
      this.progress = share * share * (3 - 2 * share);
      this.#move();
      if (share < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // groups: group of each point, a Uint8Array; colour per group, such as "#3b82f6", and of the page.
  colour(groups, colours, page) {
    this.groups = groups;
    this.picture.page = numbersOf(page);
    this.picture.colours.set(colours.flatMap(numbersOf));
    this.picture.fill("group", groups);
    this.draw();
  }

  // shown: Uint8Array of HIDDEN, FAINT and SHOWN.
  show(shown) {
    this.shown = shown;
    this.picture.fill("shown", shown);
    this.draw();
  }

  showAll() {
    this.centre = [(this.low[0] + this.high[0]) / 2, (this.low[1] + this.high[1]) / 2];
    this.zoom = 1;
    this.#next();
  }

  // Centre the map again if all of it is in view.
  settle() {
    if (this.zoom === 1) this.showAll();
  }

  // Pixels of the page per unit of the map.
  get scale() {
    const extent = Math.max((this.high[0] - this.low[0]) / this.width, (this.high[1] - this.low[1]) / this.height) || 1;
    return (this.zoom * (1 - 2 * MARGIN)) / extent;
  }

  get size() {
    const usual = Math.min(Math.max(Math.sqrt((this.width * this.height) / this.count) / 3, 2.4), 8);
    return Math.min(usual * this.zoom ** 0.4, 16);
  }

  onPage(point) {
    return this.toPage(this.places[2 * point], this.places[2 * point + 1]);
  }

  // The place on the page of a place on the map.
  toPage(x, y) {
    return [(x - this.centre[0]) * this.scale + this.width / 2, (this.centre[1] - y) * this.scale + this.height / 2];
  }

  onMap(x, y) {
    return [this.centre[0] + (x - this.width / 2) / this.scale, this.centre[1] - (y - this.height / 2) / this.scale];
  }

  pan(dx, dy) {
    const moved = [this.centre[0] - dx / this.scale, this.centre[1] + dy / this.scale];
    this.centre = moved.map((value, axis) => Math.min(Math.max(value, this.low[axis]), this.high[axis]));
    this.#move();
  }

  // Zoom around a place of the page, which does not move.
  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const [mapX, mapY] = this.onMap(x, y);
    if (factor > 1 && this.inView(Math.min(FEWEST, this.count / 4))) return undefined;
    this.zoom = Math.min(Math.max(this.zoom * factor, 1), CLOSEST);
    if (this.zoom === 1) return this.showAll();
    this.centre = [mapX - (x - this.width / 2) / this.scale, mapY + (y - this.height / 2) / this.scale];
    return this.#move();
  }

  // Move a point into view: into the middle of the uncovered part, which starts at the top left.
  follow(point, width = this.width, height = this.height) {
    const [x, y] = this.onPage(point);
    if (x >= 0 && y >= 0 && x <= width && y <= height) return;
    const right = (this.width - width) / 2 / this.scale, above = (this.height - height) / 2 / this.scale;
    this.centre = [this.places[2 * point] + right, this.places[2 * point + 1] - above];
    this.#next();
  }

  // The shown point nearest to a place of the page, within `reach` pixels; -1 for none.
  nearest(x, y, reach) {
    const [mapX, mapY] = this.onMap(x, y), far = reach / this.scale;
    let best = -1, least = far * far;
    this.grid.each(mapX - far, mapY - far, mapX + far, mapY + far, (point) => {
      const distance = (this.places[2 * point] - mapX) ** 2 + (this.places[2 * point + 1] - mapY) ** 2;
      const better = distance < least || (distance === least && this.shown[point] > this.shown[best]);
      if (better && this.shown[point] === SHOWN) [best, least] = [point, distance];
    });
    return best;
  }

  get grid() {
    return (this.cells ??= new Grid(this.places, this.low, this.high));
  }

  // The shown points in view; null if there are more than `most`.
  inView(most) {
    const [left, top] = this.onMap(0, 0), [right, bottom] = this.onMap(this.width, this.height), found = [];
    if (this.grid.count(left, bottom, right, top) > 8 * most + this.count / 100 + 1000) return null;
    this.grid.each(left, bottom, right, top, (point) => {
      const [x, y] = this.onPage(point);
      if (this.shown[point] === SHOWN && x >= 0 && y >= 0 && x <= this.width && y <= this.height) found.push(point);
    });
    return found.length > most ? null : found.sort((a, b) => a - b);
  }

  // The next shown point in a direction; if no point is given (-1), the one nearest to the middle.
  next(point, dx, dy) {
    if (point < 0) return this.nearest(this.width / 2, this.height / 2, Math.hypot(this.width, this.height));
    const [fromX, fromY] = this.onPage(point);
    let best = point, least = Infinity;
    for (let other = 0; other < this.count; other++) {
      if (this.shown[other] !== SHOWN) continue;
      const [x, y] = this.onPage(other), ahead = (x - fromX) * dx + (y - fromY) * dy;
      const across = Math.abs((x - fromX) * dy) + Math.abs((y - fromY) * dx), cost = ahead + 2 * across;
      if (ahead > 0 && ahead >= across && cost < least) [best, least] = [other, cost];
    }
    return best;
  }

  // The points inside an outline, [[x, y], ...] on the page.
  within(outline) {
    const line = outline.map(([x, y]) => this.onMap(x, y)), inside = [];
    const xs = line.map(([x]) => x), ys = line.map(([, y]) => y);
    this.grid.each(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys), (point) => {
      if (this.shown[point] !== HIDDEN && isInside(line, this.places[2 * point], this.places[2 * point + 1])) inside.push(point);
    });
    return inside.sort((a, b) => a - b);
  }

  #move() {
    this.moving = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => { this.moving = false; this.#next(); }, REST_MS);
    this.#next();
  }

  // Draw all points again.
  draw() {
    this.stale = true;
    this.#next();
  }

  #next() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.#frame(); });
  }

  // What was changed is drawn at once. The picture of another view follows while the sheet is shifted.
  #frame() {
    const { picture, progress } = this, { centre, scale, size } = this, view = { centre, scale, size, progress };
    if (picture.lost) return;
    if (this.stale || progress < 1) picture.draw(view, progress < 1 ? picture.sparse : 1);
    else if (!picture.job && this.#outdated(view)) picture.begin(view, this.moving ? picture.sparse : 1);
    this.stale = false;
    if (!picture.advance() || this.#outdated(view)) this.#next();
    picture.place(view);
    this.onDraw();
  }

  #outdated(view) {
    return this.picture.differs(view) && (!this.moving || this.picture.cheap || this.picture.misses(view));
  }

  #fillAll() {
    for (const [name, values] of Object.entries({ from: this.before, to: this.places, group: this.groups, shown: this.shown })) {
      this.picture.fill(name, values);
    }
    this.draw();
  }

  #fit() {
    const size = [this.canvas.clientWidth || 1, this.canvas.clientHeight || 1];
    if (String(size) === String([this.width, this.height])) return;
    [this.width, this.height] = size;
    this.picture.resize(this.width, this.height, Math.min(devicePixelRatio, 2));
    this.draw();
  }

  #enclose(maps) {
    this.low = [Infinity, Infinity];
    this.high = [-Infinity, -Infinity];
    for (const places of maps) {
      for (let i = 0; i < places.length; i++) {
        if (places[i] < this.low[i % 2]) this.low[i % 2] = places[i];
        if (places[i] > this.high[i % 2]) this.high[i % 2] = places[i];
      }
    }
  }
}

// A grid of cells, each with its points, to find the points near a place.
class Grid {
  constructor(places, low, high) {
    const count = places.length / 2;
    this.low = low;
    this.side = Math.max(FINEST, Math.floor(Math.sqrt(count)));
    this.step = (Math.max(high[0] - low[0], high[1] - low[1]) || 1) / this.side;
    const cells = new Uint32Array(count);
    this.first = new Uint32Array(this.side * this.side + 1);
    for (let i = 0; i < count; i++) {
      cells[i] = this.#cell(places[2 * i + 1], 1) * this.side + this.#cell(places[2 * i], 0);
      this.first[cells[i] + 1]++;
    }
    for (let i = 0; i < this.side * this.side; i++) this.first[i + 1] += this.first[i];
    const next = this.first.slice();
    this.points = new Uint32Array(count);
    for (let i = 0; i < count; i++) this.points[next[cells[i]]++] = i;
  }

  each(left, bottom, right, top, act) {
    const [from, to] = [this.#cell(left, 0), this.#cell(right, 0)];
    for (let row = this.#cell(bottom, 1); row <= this.#cell(top, 1); row++) {
      const last = this.first[row * this.side + to + 1];
      for (let i = this.first[row * this.side + from]; i < last; i++) act(this.points[i]);
    }
  }

  // Number of points in the cells of an area.
  count(left, bottom, right, top) {
    const [from, to] = [this.#cell(left, 0), this.#cell(right, 0)];
    let found = 0;
    for (let row = this.#cell(bottom, 1); row <= this.#cell(top, 1); row++) {
      found += this.first[row * this.side + to + 1] - this.first[row * this.side + from];
    }
    return found;
  }

  #cell(value, axis) {
    return Math.min(Math.max(Math.floor((value - this.low[axis]) / this.step), 0), this.side - 1);
  }
}

// True if a ray to the right crosses the line an odd number of times.
function isInside(line, x, y) {
  let inside = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [ax, ay] = line[i], [bx, by] = line[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

const numbersOf = (colour) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16) / 255);
