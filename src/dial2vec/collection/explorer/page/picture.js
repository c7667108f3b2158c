// @ts-check
"use strict";
// A picture of all points by WebGL 2, on a sheet that is larger than the view: while the map moves, the browser only shifts
// the sheet, and a new picture is drawn part by part.

const VERTEX = `#version 300 es
in vec2 from; in vec2 to; in float group; in float shown;
uniform float progress; uniform vec2 centre; uniform vec2 scale; uniform float size; uniform vec3 page;
uniform vec3 colours[64];
out vec3 colour;
void main() {
  vec2 place = (mix(from, to, progress) - centre) * scale;
  // Hidden points lie outside the picture, faint ones under the others.
  gl_Position = shown < 0.5 ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(place, shown < 1.5 ? 0.5 : 0.0, 1.0);
  gl_PointSize = shown < 1.5 ? size * 0.75 : size;
  vec3 own = colours[int(group)];
  colour = shown < 1.5 ? mix(page, own, 0.35) : own;
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 colour; uniform float size; out vec4 seen;
void main() {
  float far = length(gl_PointCoord * 2.0 - 1.0);
  float edge = clamp((1.0 - far) * size * 0.5 + 0.5, 0.0, 1.0);
  if (edge <= 0.0) discard;
  // Where points are dense the colour is stronger.
  seen = vec4(colour, edge * 0.55);
}`;
// The sheet exceeds the view by this share of it on each side. A picture that costs more than PART_MS, as without a
// graphics card, is drawn in parts of that time, and while the map moves in at most MOST_PARTS of them: then only every
// second, third, ... point is on it.
const BEYOND = 0.25, PART_MS = 5, MOST_PARTS = 8;
// A picture takes at most so many parts, even if they take longer.
const LONGEST = 40;
// Cost of a point without a graphics card, until the first picture in parts was measured.
const POINT_MS = 0.001;
// A new picture is needed if the map's zoom is this many times that of the picture, or if less of the sheet than this share
// of the view is left on a side.
const LARGEST = 1.6, LEAST_LEFT = 0.06;

class Picture {
  // count: number of points. onLost: called when all has to be filled and drawn again.
  constructor(sheet, count, onLost) {
    Object.assign(this, { sheet, count, buffers: {}, colours: new Float32Array(192), page: [1, 1, 1] });
    Object.assign(this, { view: null, every: 1, costMs: count * POINT_MS, job: null, width: 1, height: 1, ratio: 1 });
    // Kept, so that a picture of the page that a program takes has its points.
    this.gl = sheet.getContext("webgl2", { antialias: false, alpha: false, preserveDrawingBuffer: true });
    if (!this.gl) throw new Error("This browser has no WebGL 2. The list has all conversations.");
    sheet.addEventListener("webglcontextlost", (event) => event.preventDefault());
    sheet.addEventListener("webglcontextrestored", () => { this.#prepare(); onLost(); });
    this.#prepare();
  }

  get lost() {
    return this.gl.isContextLost();
  }

  // True if a graphics card draws all points in a part of a frame.
  get cheap() {
    return this.costMs <= PART_MS;
  }

  // While the points move, or the map, every n-th point is drawn.
  get sparse() {
    return Math.max(Math.ceil(this.costMs / PART_MS / MOST_PARTS), 1);
  }

  // An attribute of the points: "from" and "to" are places, "group" and "shown" one byte per point.
  fill(name, values) {
    const { gl } = this, each = values.length / this.count || 1;
    this.buffers[name] ??= { buffer: gl.createBuffer(), each, bytes: each * values.BYTES_PER_ELEMENT };
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name].buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(gl.getAttribLocation(this.program, name));
  }

  // Size of the view in pixels of the page, and pixels of the screen per pixel of the page.
  resize(width, height, ratio) {
    Object.assign(this, { width, height, ratio, job: null });
    const [across, down] = [width, height].map((length) => length + 2 * Math.round(length * BEYOND));
    Object.assign(this.sheet, { width: Math.round(across * ratio), height: Math.round(down * ratio) });
    Object.assign(this.sheet.style, {
      width: `${across}px`, height: `${down}px`, left: `${(width - across) / 2}px`, top: `${(height - down) / 2}px`,
    });
    this.#keepParts();
  }

  // Draw every n-th point now. view: {centre, scale, size, progress}, in units of the map and pixels of the page.
  draw(view, every = 1) {
    this.#clear(null, view);
    this.#points(every, 0, Math.ceil(this.count / every));
    Object.assign(this, { view, every, job: null });
  }

  // Begin another picture, which `advance` draws part by part. The one before stays on the sheet.
  begin(view, every) {
    if (this.cheap) this.draw(view);
    else this.job = { view, every, done: 0 };
  }

  // Draw the next part. True if no picture is being drawn any more.
  advance() {
    const { gl, job } = this;
    if (!job) return true;
    const all = Math.ceil(this.count / job.every);
    const part = Math.ceil(Math.max((this.count * PART_MS) / this.costMs, all / LONGEST));
    if (!job.done) this.#clear(this.parts, job.view);
    else this.#aim(this.parts, job.view);
    const began = job.done ? 0 : this.#waited(), count = Math.min(part, all - job.done);
    this.#points(job.every, job.done, count);
    if (began) this.#learn(((this.#waited() - began) * this.count) / count);
    job.done += count;
    if (job.done < all) return false;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.parts);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    const { width, height } = this.sheet;
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    Object.assign(this, { view: job.view, every: job.every, job: null });
    return true;
  }

  // True if the picture is not of this view, or does not have all points.
  differs({ centre, scale }) {
    const { view } = this;
    return this.every > 1 || view.scale !== scale || view.centre[0] !== centre[0] || view.centre[1] !== centre[1];
  }

  // True if parts of a view lie beyond the sheet, or soon will, or the picture's zoom is far from that of the view.
  misses(view) {
    const zoom = view.scale / this.view.scale, [x, y] = this.#shift(view);
    const left = ((1 + 2 * BEYOND) * zoom - 1) / 2 - LEAST_LEFT;
    return zoom > LARGEST || Math.abs(x) > left * this.width || Math.abs(y) > left * this.height;
  }

  // Shift and stretch the sheet so that the picture lies where a view has it.
  place(view) {
    const zoom = view.scale / this.view.scale, shift = this.#shift(view);
    const [x, y] = zoom === 1 ? shift.map((length) => Math.round(length * this.ratio) / this.ratio) : shift;
    this.sheet.style.transform = `translate(${x}px, ${y}px) scale(${zoom})`;
  }

  #shift({ centre, scale }) {
    return [(this.view.centre[0] - centre[0]) * scale, (centre[1] - this.view.centre[1]) * scale];
  }

  // Draw into a framebuffer, or on the sheet (null).
  #aim(target, { centre, scale, size, progress }) {
    const { gl, at, sheet } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, target);
    gl.viewport(0, 0, sheet.width, sheet.height);
    gl.uniform1f(at("progress"), progress);
    gl.uniform2f(at("centre"), ...centre);
    gl.uniform2f(at("scale"), (2 * scale * this.ratio) / sheet.width, (2 * scale * this.ratio) / sheet.height);
    gl.uniform1f(at("size"), size * this.ratio);
    gl.uniform3f(at("page"), ...this.page);
    gl.uniform3fv(at("colours"), this.colours);
  }

  #clear(target, view) {
    const { gl } = this;
    this.#aim(target, view);
    gl.clearColor(...this.page, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  }

  // Other work on the machine makes a measured cost larger, never smaller.
  #learn(costMs) {
    this.costMs = this.measured ? Math.min(costMs, this.costMs * 1.1) : costMs;
    this.measured = true;
  }

  // The time when all that was ordered is drawn.
  #waited() {
    const { gl } = this;
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    return performance.now();
  }

  // Draw some points, of every n-th one.
  #points(every, first, count) {
    const { gl } = this;
    for (const [name, { buffer, each, bytes }] of Object.entries(this.buffers)) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      const kind = bytes > each ? gl.FLOAT : gl.UNSIGNED_BYTE;
      gl.vertexAttribPointer(gl.getAttribLocation(this.program, name), each, kind, false, every * bytes, 0);
    }
    gl.drawArrays(gl.POINTS, first, count);
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
    Object.assign(this, { program, buffers: {}, job: null, parts: gl.createFramebuffer(), stores: null });
    this.#keepParts();
  }

  // Memory for a picture in parts, of the size of the sheet.
  #keepParts() {
    const { gl } = this, kinds = [[gl.RGBA8, gl.COLOR_ATTACHMENT0], [gl.DEPTH_COMPONENT16, gl.DEPTH_ATTACHMENT]];
    this.stores ??= kinds.map(() => gl.createRenderbuffer());
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.parts);
    kinds.forEach(([format, place], i) => {
      gl.bindRenderbuffer(gl.RENDERBUFFER, this.stores[i]);
      gl.renderbufferStorage(gl.RENDERBUFFER, format, this.sheet.width, this.sheet.height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, this.stores[i]);
    });
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }
}
