// @ts-check
"use strict";
// The topics as a treemap: rectangles as large as their shares, those of an area together under its name.

// Height of an area's name, and the size of a treemap that is not on the screen but may be printed, in pixels.
const NAME_HEIGHT = 22, PAPER = [960, 640];

class Treemap {
  // groups: areas and topics; on: {choose(level, place), previews(part, group)}
  constructor(box, [areas, topics], on) {
    const cell = (group, level, at) => {
      const item = element("li", "", box, { className: level ? "" : "field" }), made = button("", item, () => on.choose(level, at));
      element("span", nameOf(group), made);
      on.previews(item, [level, at]);
      return { item, made, name: nameOf(group), share: element("small", "", made) };
    };
    const cells = [areas.map((area, at) => cell(area, 0, at)), topics.map((topic, at) => cell(topic, 1, at))];
    Object.assign(this, { box, areas, cells });
  }

  // counts: number of conversations per group; colours: those of the groups, "" for none; chosen: [level, place] or null
  update(counts, total, colours, chosen) {
    const [width, height] = this.box.clientWidth ? [this.box.clientWidth, this.box.clientHeight] : PAPER;
    const put = (level, at, place) => {
      const { item, made, name, share } = this.cells[level][at], sides = [width, height, width, height];
      item.hidden = !place;
      place?.forEach((length, side) => { item.style[["left", "top", "width", "height"][side]] = `${(100 * length) / sides[side]}%`; });
      item.style.setProperty("--own", colours[level][at] || "var(--soft)");
      share.textContent = percent(counts[level][at] / Math.max(1, total));
      made.ariaLabel = made.title = `${name}, ${share.textContent}`;
      made.setAttribute("aria-pressed", String(chosen?.[0] === level && chosen[1] === at));
    };
    const fields = squarified(counts[0], [0, 0, width, height]);
    this.areas.forEach(({ topics }, at) => {
      const [x, y, w, h] = fields[at] ?? [0, 0, 0, 0], several = topics.length > 1, name = several ? Math.min(NAME_HEIGHT, h / 3) : 0;
      const places = squarified(topics.map((topic) => counts[1][topic]), [x, y + name, w, h - name]);
      put(0, at, several ? fields[at] : undefined);
      topics.forEach((topic, place) => put(1, topic, places[place]));
    });
  }
}

// Rectangles [x, y, width, height] as large as their sizes, and as square as rows of them allow; none for a size of 0
// (Bruls, Huizing and van Wijk 2000).
function squarified(sizes, [x, y, width, height]) {
  const order = [...sizes.keys()].filter((at) => sizes[at] > 0).sort((a, b) => sizes[b] - sizes[a]), places = [];
  const scale = (width * height) / sum(order.map((at) => sizes[at])), areas = order.map((at) => scale * sizes[at]);
  for (let from = 0, until = 0; from < order.length; from = until) {
    const side = Math.min(width, height), upright = width < height;
    let all = 0, along = 0;
    // A row along the shorter side takes the next one unless the longest rectangle gets longer by it.
    for (let worst = Infinity; until < order.length; until += 1) {
      const next = all + areas[until], ratio = Math.max((side ** 2 * areas[from]) / next ** 2, next ** 2 / (side ** 2 * areas[until]));
      if (ratio > worst) break;
      [all, worst] = [next, ratio];
    }
    const depth = all / side;
    for (let place = from; place < until; along += areas[place] / depth, place += 1) {
      places[order[place]] = upright ? [x + along, y, areas[place] / depth, depth] : [x, y + along, depth, areas[place] / depth];
    }
    [x, y, width, height] = upright ? [x, y + depth, width, height - depth] : [x + depth, y, width - depth, height];
  }
  return places;
}
