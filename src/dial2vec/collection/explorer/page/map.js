// @ts-check
"use strict";
// The map with all that lies on it: points, names, the ring around the picked point, the tooltip and the buttons.

// Time without movement after which the place of the map is written to the address.
const SETTLED_MS = 400;
// Zoom from which the map says which area is in view.
const NEAR = 2;

class MapView {
  // content: unpacked, with `maps` as arrays of places; on: {set(change), select(rows), open(row), mark(row), name(group)}
  constructor(source, content, about, on) {
    Object.assign(this, { source, content, about, on, picked: -1, group: null, map: 0 });
    this.canvas = byId("canvas");
    this.tip = new Tip(byId("tip"), byId("stage"), source, about);
    this.points = this.#drawn();
    if (!this.points) return;
    this.#name();
    this.#listen();
    this.#offerEncoders();
  }

  // Take over other content for the same points, which move if it has other places for them.
  take(content) {
    const moved = content.version !== this.content.version;
    this.content = content;
    if (!this.points) return;
    if (moved) this.points.moveTo(content.maps[this.map].places, content.maps.map(({ places }) => places));
    this.#name();
  }

  update({ state, mask, rows, counts, passes }) {
    this.mask = mask;
    this.#shade();
    if (!this.points) return;
    const total = passes("topic").reduce((sum, one) => sum + one, 0), lit = counts.map((all) => new Int32Array(all.length));
    this.content.members.forEach((groups, level) => { for (const row of rows) if (groups[row] >= 0) lit[level][groups[row]]++; });
    // Colours of areas would say something else where the points have those of other values.
    byId("names").classList.toggle("plain", !NAMED.includes(state.colour ?? this.content.colourings[0].title));
    this.names.tell(counts, lit, total);
    this.names.select(state.topic);
    this.#locate();
    if (state.map === this.map || !this.content.maps[state.map]) return;
    this.map = state.map;
    this.tip.hide();
    this.points.moveTo(this.content.maps[this.map].places);
    this.names.show(this.map);
    byId("encoders").elements[this.map].checked = true;
  }

  // Colour the points by a colouring of the content.
  colour({ codes, colours, page }) {
    this.points?.colour(codes, colours, page);
  }

  // Show which points belong to a group, [level, place], for as long as the pointer is over its name; null for none.
  preview(group) {
    this.group = group;
    this.#shade();
  }

  // Show a part of the map: [x, y, zoom], null for all of it.
  restore(view) {
    if (!this.points || String(view) === String(this.#view())) return;
    this.points.showAll();
    if (!view) return;
    [this.points.centre, this.points.zoom] = [view.slice(0, 2), Math.max(view[2], 1)];
    this.points.draw();
  }

  // Mark a row; -1 for none.
  pick(row) {
    this.picked = row;
    this.tip.hide();
    if (row >= 0) this.points?.follow(row, ...this.#uncovered());
    else this.points?.settle();
    this.#placeRing();
  }

  lasso(on) {
    this.gestures?.lasso(on);
    byId("lasso").setAttribute("aria-pressed", String(on));
  }

  #shade() {
    if (!this.points || !this.mask) return;
    const members = this.group && this.content.members[this.group[0]];
    const lit = members ? (row) => members[row] === this.group[1] : (row) => this.mask[row];
    const shown = new Uint8Array(this.mask.length);
    for (let row = 0; row < shown.length; row++) shown[row] = lit(row) ? SHOWN : FAINT;
    this.points.show(shown);
  }

  #drawn() {
    try {
      return new Points(this.canvas, this.content.maps.map(({ places }) => places), () => this.#drawnAgain());
    } catch (error) {
      byId("stage").classList.add("none");
      this.#say("There is no map", error.message, "Show the list", () => this.on.set({ panel: "dialogues" }), true);
      return null;
    }
  }

  #name() {
    const speaking = async (rows) => (await this.source.speaking(rows)).map((turn) => turn[1] ?? "");
    const { groups, colourings } = this.content, way = colourings.find(({ title }) => NAMED.includes(title));
    const known = (name, { name: title, change }) => ({ ...name, change, colour: way?.colours[way.names.indexOf(title)] });
    const lists = this.content.maps.map(({ names }) => names.map((name) => known(name, groups[name.level][name.id])));
    this.names = new MapNames(byId("names"), this.points, lists, speaking);
    if (this.map) this.names.show(this.map);
    if (this.gestures) this.gestures.names = this.names;
  }

  // After every frame.
  #drawnAgain() {
    this.#placeRing();
    this.names?.place();
    clearTimeout(this.settled);
    this.settled = setTimeout(() => { this.#locate(); this.on.set({ view: this.#view() }); }, SETTLED_MS);
  }

  // Say which area is in view when the map is near, or that nothing is.
  #locate() {
    const { points, content } = this, near = points.zoom >= NEAR, empty = points.inView(0);
    const area = near && !empty && content.groups?.[0][content.members[0][points.next(-1, 0, 0)]];
    byId("where").hidden = true;
    if (near || empty) this.#say(empty ? "Nothing here" : area ? nameOf(area) : "", "", "Show all", () => points.showAll(), Boolean(empty));
    this.names.block();
  }

  // Say something over the map, with a button: in the middle or at the edge.
  #say(title, text, action, act, middle) {
    const box = byId("where");
    Object.assign(box, { hidden: false, className: middle ? "middle" : "" });
    box.replaceChildren(element("strong", title), element("span", text));
    button(action, box, act);
  }

  #view() {
    return this.points.zoom === 1 ? null : [...this.points.centre, this.points.zoom].map((one) => Number(one.toPrecision(5)));
  }

  // Go to the next dialogue in a direction.
  #step(dx, dy) {
    this.pick(this.points.next(this.picked, dx, dy));
    if (this.picked < 0) return;
    this.canvas.setAttribute("aria-label", this.about(this.picked).flat().join(", "));
    this.on.mark(this.picked);
  }

  // Width and height of the visible part of the map; the reader covers the right, or the bottom on a phone.
  #uncovered() {
    const map = this.canvas.getBoundingClientRect(), reader = byId("reader").getBoundingClientRect();
    if (byId("reader").hidden) return [map.width, map.height];
    if (reader.left > map.left) return [Math.min(reader.left - map.left, map.width), map.height];
    return [map.width, Math.min(Math.max(reader.top - map.top, 0), map.height)];
  }

  #placeRing() {
    byId("ring").hidden = this.picked < 0 || !this.points;
    if (byId("ring").hidden) return;
    const [x, y] = this.points.onPage(this.picked);
    byId("ring").style.transform = `translate(${x}px, ${y}px)`;
  }

  #listen() {
    const { canvas, points } = this;
    this.gestures = new Gestures(canvas, points, {
      hover: (row, x, y) => {
        canvas.classList.toggle("pointing", row >= 0);
        if (row < 0) this.tip.hide();
        else this.tip.show(row, x, y);
      },
      open: (row) => this.on.open(row),
      name: (level, place) => this.on.name([level, place]),
      select: (rows) => { this.lasso(false); this.on.select(rows); },
      step: (dx, dy) => this.#step(dx, dy),
      enter: () => { if (this.picked >= 0) this.on.open(this.picked); },
    }, this.names);
    canvas.setAttribute("aria-label", `Map of ${many(points.count)}`);
    byId("lasso").addEventListener("click", () => this.lasso(!this.gestures.lassoing));
    byId("zoom-in").addEventListener("click", () => points.zoomBy(ZOOM_STEP));
    byId("zoom-out").addEventListener("click", () => points.zoomBy(1 / ZOOM_STEP));
    byId("zoom-all").addEventListener("click", () => points.showAll());
  }

  // Switch between the maps of the trained encoder and of the one to compare with.
  #offerEncoders() {
    const box = byId("encoders");
    this.content.maps.forEach(({ title, encoder }, i) => {
      const label = element("label", "", box, { title: encoder });
      const choice = element("input", "", label, { type: "radio", name: "map", value: i, checked: i === 0 });
      choice.addEventListener("change", () => this.on.set({ map: i }));
      label.append(` ${title}`);
    });
    box.hidden = this.content.maps.length < 2;
  }
}
