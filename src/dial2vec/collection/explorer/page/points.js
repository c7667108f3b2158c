"use strict";
// Draws all points in one WebGL 2 call, so that moving the map sends only three numbers to the graphics card; and finds
// the point under a finger.

const VERTEX = `#version 300 es
in vec2 from; in vec2 to; in float group; in float shown;
uniform float progress; uniform vec2 centre; uniform vec2 scale; uniform float size; uniform vec3 page; uniform vec3 ink;
// Colour of each group, and 1 if its points are rings in another shade.
uniform vec4 colours[24];
out vec3 colour; flat out float ring;
void main() {
  vec2 place = (mix(from, to, progress) - centre) * scale;
  // Hidden points lie outside the picture, faint ones under the others.
  gl_Position = shown < 0.5 ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(place, shown < 1.5 ? 0.5 : 0.0, 1.0);
  gl_PointSize = shown < 1.5 ? size * 0.75 : size;
  vec4 own = colours[int(group)];
  vec3 shade = mix(own.rgb, ink, 0.4 * own.a);
  colour = shown < 1.5 ? mix(page, shade, 0.22) : shade;
  ring = size > 6.0 ? own.a : 0.0;
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 colour; flat in float ring; uniform float size; out vec4 seen;
void main() {
  float far = length(gl_PointCoord * 2.0 - 1.0);
  float edge = clamp((1.0 - far) * size * 0.5 + 0.5, 0.0, 1.0);
  if (edge <= 0.0 || (ring > 0.5 && far < 0.5)) discard;
  seen = vec4(colour, edge * 0.9);
}`;
const HIDDEN = 0, FAINT = 1, SHOWN = 2;
const CLOSEST = 400, MARGIN = 0.06, SWITCH_MS = 700;
// Longest time for a frame while the map moves. If all points take longer, as without a graphics card, only every second
// to eighth point is drawn until the map has rested for REST_MS.
const SMOOTH_MS = 25, SPARSEST = 8, REST_MS = 150;

class Points {
  // maps: places of the same points, one Float32Array [x, y, ...] per map, the first one shown first; the full view
  // contains the points of all maps. onDraw is called after every frame.
  constructor(canvas, maps, onDraw) {
    const [places] = maps;
    this.canvas = canvas;
    this.count = places.length / 2;
    this.onDraw = onDraw;
    this.places = this.before = places;
    this.groups = new Uint8Array(this.count);
    this.shown = new Uint8Array(this.count).fill(SHOWN);
    this.colours = new Float32Array(96);
    this.page = [1, 1, 1];
    this.ink = [0, 0, 0];
    this.progress = 1;
    this.moving = false;
    this.costMs = 0;
    this.gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
    if (!this.gl) throw new Error("This browser has no WebGL 2, so there is no map. The list has all dialogues.");
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.#prepare());
    new ResizeObserver(() => this.#fit()).observe(canvas);
    this.#enclose(maps);
    this.#prepare();
    this.#fit();
    this.showAll();
  }

  // Move the points to other places, without animation if the user prefers reduced motion.
  moveTo(places) {
    this.before = this.places;
    this.places = places;
    this.grid = null;
    this.#fill("from", this.before, 2);
    this.#fill("to", places, 2);
    const began = performance.now(), still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = (now) => {
      const share = still ? 1 : Math.min(Math.max((now - began) / SWITCH_MS, 0), 1);
      this.progress = share * share * (3 - 2 * share);
      this.#move();
      if (share < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // groups: group of each point, a Uint8Array; colours and marks per group, such as "#3b82f6" and "disc" or "ring".
  colour(groups, colours, marks) {
    this.groups = groups;
    this.colours.set(colours.flatMap((colour, code) => [...numbersOf(colour), Number(marks[code] === "ring")]));
    this.#fill("group", groups, 1);
    this.draw();
  }

  // shown: Uint8Array of HIDDEN, FAINT and SHOWN.
  show(shown) {
    this.shown = shown;
    this.#fill("shown", shown, 1);
    this.draw();
  }

  paint(page, ink) {
    [this.page, this.ink] = [numbersOf(page), numbersOf(ink)];
    this.draw();
  }

  showAll() {
    this.centre = [(this.low[0] + this.high[0]) / 2, (this.low[1] + this.high[1]) / 2];
    this.zoom = 1;
    this.draw();
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
    const usual = Math.min(Math.max(280 / Math.sqrt(this.count), 2.4), 8);
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
    this.draw();
  }

  // The shown point nearest to a place of the page, within `reach` pixels; -1 for none.
  nearest(x, y, reach) {
    this.grid ??= new Grid(this.places, this.low, this.high);
    const [mapX, mapY] = this.onMap(x, y), far = reach / this.scale;
    let best = -1, least = far * far;
    this.grid.each(mapX - far, mapY - far, mapX + far, mapY + far, (point) => {
      const distance = (this.places[2 * point] - mapX) ** 2 + (this.places[2 * point + 1] - mapY) ** 2;
      const better = distance < least || (distance === least && this.shown[point] > this.shown[best]);
      if (better && this.shown[point] === SHOWN) [best, least] = [point, distance];
    });
    return best;
  }

  // The shown points in view; none if there are more than `most`.
  inView(most) {
    this.grid ??= new Grid(this.places, this.low, this.high);
    const [left, top] = this.onMap(0, 0), [right, bottom] = this.onMap(this.width, this.height), found = [];
    if (this.grid.count(left, bottom, right, top) > 8 * most + this.count / 100) return [];
    this.grid.each(left, bottom, right, top, (point) => {
      const [x, y] = this.onPage(point);
      if (this.shown[point] === SHOWN && x >= 0 && y >= 0 && x <= this.width && y <= this.height) found.push(point);
    });
    return found.length > most ? [] : found.sort((a, b) => a - b);
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
    this.grid ??= new Grid(this.places, this.low, this.high);
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
    this.rest = setTimeout(() => { this.moving = false; this.draw(); }, REST_MS);
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.#draw(); });
  }

  #draw() {
    const { gl, at } = this;
    if (gl.isContextLost()) return;
    const began = performance.now(), every = this.moving ? Math.min(Math.ceil(this.costMs / SMOOTH_MS) || 1, SPARSEST) : 1;
    for (const name of Object.keys(this.buffers)) this.#read(name, every);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...this.page, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.uniform1f(at("progress"), this.progress);
    gl.uniform2f(at("centre"), ...this.centre);
    gl.uniform2f(at("scale"), (2 * this.scale) / this.width, (2 * this.scale) / this.height);
    gl.uniform1f(at("size"), this.size * this.ratio);
    gl.uniform3f(at("page"), ...this.page);
    gl.uniform3f(at("ink"), ...this.ink);
    gl.uniform4fv(at("colours"), this.colours);
    gl.drawArrays(gl.POINTS, 0, Math.ceil(this.count / every));
    if (!this.moving) {
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));  // waits until everything is drawn
      this.costMs = performance.now() - began;
    }
    this.onDraw();
  }

  #prepare() {
    const { gl } = this, program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`The map cannot be drawn here (${gl.getProgramInfoLog(program)}). The list has all dialogues.`);
    }
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    const places = {};
    this.at = (name) => (places[name] ??= gl.getUniformLocation(program, name));
    this.program = program;
    this.buffers = {};
    this.#fill("from", this.before, 2);
    this.#fill("to", this.places, 2);
    this.#fill("group", this.groups, 1);
    this.#fill("shown", this.shown, 1);
    this.draw();
  }

  #fill(name, values, each) {
    const { gl } = this;
    this.buffers[name] ??= { buffer: gl.createBuffer(), each, bytes: each * values.BYTES_PER_ELEMENT };
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name].buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(gl.getAttribLocation(this.program, name));
  }

  // Read an attribute for every n-th point only.
  #read(name, every) {
    const { gl } = this, { buffer, each, bytes } = this.buffers[name];
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    const kind = bytes > each ? gl.FLOAT : gl.UNSIGNED_BYTE;
    gl.vertexAttribPointer(gl.getAttribLocation(this.program, name), each, kind, false, every * bytes, 0);
  }

  #fit() {
    this.ratio = Math.min(devicePixelRatio, 2);
    [this.width, this.height] = [this.canvas.clientWidth || 1, this.canvas.clientHeight || 1];
    [this.canvas.width, this.canvas.height] = [Math.round(this.width * this.ratio), Math.round(this.height * this.ratio)];
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
    this.side = Math.max(1, Math.floor(Math.sqrt(count)));
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
