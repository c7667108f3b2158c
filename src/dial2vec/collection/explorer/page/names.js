"use strict";
// Names of areas and topics on the map: the larger group first, and none over another.

// Zoom from which a level is shown, and from which it gives way to the next.
const LEVELS = [{ from: 0, until: 3 }, { from: 0, until: 12 }, { from: 3, until: Infinity }];
const GAP = 4, MOST = 60;

// True if two boxes [left, top, right, bottom] share a place, or come closer than a gap.
function overlap(one, other, gap = GAP) {
  return one[0] < other[2] + gap && other[0] < one[2] + gap && one[1] < other[3] + gap && other[1] < one[3] + gap;
}

// The names to show, with their boxes. names: [{level, x, y, width, height}] in the order of importance, x and y on the
// page; view: [width, height]; blocked: boxes that stay free.
function placedNames(names, view, zoom, blocked = []) {
  const taken = [...blocked], placed = [];
  for (const name of names) {
    const { from, until } = LEVELS[name.level];
    if (zoom < from || zoom >= until || placed.length >= MOST) continue;
    const box = [name.x - name.width / 2, name.y - name.height / 2, name.x + name.width / 2, name.y + name.height / 2];
    if (box[0] < 0 || box[1] < 0 || box[2] > view[0] || box[3] > view[1]) continue;
    if (taken.some((other) => overlap(box, other))) continue;
    taken.push(box);
    placed.push({ name, box });
  }
  return placed;
}

class MapNames {
  // names: one list per map of {text, level, x, y, size}.
  constructor(box, points, names) {
    Object.assign(this, { box, points, lists: names, current: [] });
    this.show(0);
  }

  // Show the names of another map.
  show(map) {
    this.box.replaceChildren();
    this.current = this.lists[map].map((name) => {
      const span = element("span", name.text, this.box, { className: `level-${name.level}` });
      return { ...name, span, width: span.offsetWidth, height: span.offsetHeight, mapX: name.x, mapY: name.y };
    });
    this.place();
  }

  // Put the names where they belong in the view of the map.
  place() {
    const { points } = this, view = [points.width, points.height];
    for (const name of this.current) [name.x, name.y] = points.toPage(name.mapX, name.mapY);
    const shown = points.progress < 1 ? [] : placedNames(this.current, view, points.zoom, this.#blocked());
    const boxes = new Map(shown.map(({ name, box }) => [name, box]));
    for (const name of this.current) {
      const box = boxes.get(name);
      name.span.style.visibility = box ? "visible" : "hidden";
      if (box) name.span.style.transform = `translate(${Math.round(box[0])}px, ${Math.round(box[1])}px)`;
    }
  }

  // The buttons on the map.
  #blocked() {
    const own = this.box.getBoundingClientRect();
    return [...this.box.parentElement.querySelectorAll(".controls button")].map((button) => {
      const { left, top, right, bottom } = button.getBoundingClientRect();
      return [left - own.left, top - own.top, right - own.left, bottom - own.top];
    });
  }
}
