// @ts-check
"use strict";
// Gestures on the map: drag, pinch, wheel, point, tap, keys, lasso.

const REACH = 14, STILL = 5, ZOOM_STEP = 1.6;
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

class Gestures {
  // on: {hover(point, x, y), open(point), name(level, id), select(points), step(dx, dy), enter()}; names: the MapNames
  // over the points, or null
  constructor(canvas, points, on, names = null) {
    Object.assign(this, { canvas, points, on, names, fingers: new Map(), outline: null, lassoing: false });
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => { this.fingers.delete(event.pointerId); this.#endOutline(); });
    canvas.addEventListener("pointerleave", () => this.#leave());
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  // on: true if dragging draws a lasso; with Shift held it always does.
  lasso(on) {
    this.lassoing = on;
    this.canvas.classList.toggle("drawing", on);
  }

  #place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #down(event) {
    if (event.button) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.#leave();
    const place = this.#place(event);
    this.fingers.set(event.pointerId, place);
    this.began = this.fingers.size === 1 ? place : null;
    this.#endOutline();
    if (this.fingers.size === 1 && (this.lassoing || event.shiftKey)) this.outline = [place];
  }

  #move(event) {
    const place = this.#place(event), before = this.fingers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") this.#hover(place);
      return;
    }
    if (this.outline) {
      this.outline.push(place);
      this.#drawOutline();
    } else if (this.fingers.size === 2) {
      const [other] = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, other]) => other);
      const apart = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]);
      this.points.zoomBy(apart(place) / (apart(before) || 1), (place[0] + other[0]) / 2, (place[1] + other[1]) / 2);
      this.points.pan((place[0] - before[0]) / 2, (place[1] - before[1]) / 2);
    } else {
      this.points.pan(place[0] - before[0], place[1] - before[1]);
    }
    this.fingers.set(event.pointerId, place);
  }

  #up(event) {
    const place = this.#place(event), outline = this.outline;
    if (!this.fingers.delete(event.pointerId)) return;
    this.#endOutline();
    const moved = !this.began || Math.hypot(place[0] - this.began[0], place[1] - this.began[1]) > STILL;
    if (outline && outline.length > 3) {
      this.on.select(this.points.within(outline));
    } else if (!moved) {
      this.#choose(place, event.pointerType === "mouse" ? REACH : 2 * REACH);
    }
  }

  // A name lies over the points.
  #choose(place, reach) {
    const name = this.names?.at(...place), point = name ? name.row ?? -1 : this.points.nearest(...place, reach);
    if (point >= 0) this.on.open(point);
    else if (name) this.on.name?.(name.level, name.id);
  }

  #hover(place) {
    const name = this.names?.at(...place) ?? null;
    this.on.hover(name ? -1 : this.points.nearest(...place, REACH), ...place);
    this.canvas.classList.toggle("naming", Boolean(name));
  }

  #leave() {
    this.canvas.classList.remove("naming");
    this.on.hover(-1);
  }

  #wheel(event) {
    event.preventDefault();
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * 20 : event.deltaY;
    this.#leave();
    this.points.zoomBy(Math.exp(-pixels / 400), ...this.#place(event));
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const zoom = { "+": ZOOM_STEP, "=": ZOOM_STEP, "-": 1 / ZOOM_STEP }[event.key];
    if (zoom) this.points.zoomBy(zoom);
    else if (event.key === "0") this.points.showAll();
    else if (event.key === "Enter") this.on.enter();
    else if (STEPS[event.key]) this.on.step(...STEPS[event.key]);
    else return;
    event.preventDefault();
  }

  #drawOutline() {
    byId("lasso-path").setAttribute("d", `M${this.outline.map((place) => place.join(" ")).join("L")}Z`);
  }

  #endOutline() {
    this.outline = null;
    byId("lasso-path").setAttribute("d", "");
  }
}
