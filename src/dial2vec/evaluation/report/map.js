// Shows the dialogue of a point; without this script, the maps are plain pictures.
(() => {
  "use strict";
  const SIDE = 1000, REACH = 24, CLOSEST = 40, FONT = 32, HALO = 9;
  const { labels, dialogues } = JSON.parse(document.getElementById("map-data").textContent);
  const legend = [...document.querySelectorAll(".legend button")];
  const picked = document.getElementById("picked");
  const hint = "Point at a conversation or tap it. With the keyboard: Tab to a map, then use the arrow keys.";
  let current = -1, only = -1;

  const maps = [...document.querySelectorAll("svg.map")].map((svg, order) => ({
    svg, place: (dialogue) => dialogue[3 + order], view: { x: 0, y: 0, side: SIDE },
    layers: [...svg.querySelectorAll("g:not(.name)")], names: [...svg.querySelectorAll(".name")], picks: [...svg.querySelectorAll(".pick, .pick-hole, .pick-point")],
  }));

  const visible = (index) => only < 0 || dialogues[index][1] === only;

  function line(tag, text, parent) {
    const element = parent.appendChild(document.createElement(tag));
    element.textContent = text;
    return element;
  }

  function pick(index) {
    if (index === current) return;
    current = index;
    for (const map of maps) {
      const path = index < 0 ? "" : `M${map.place(dialogues[index]).join(" ")}h0`;
      for (const ring of map.picks) ring.setAttribute("d", path);
      if (index >= 0) map.picks.at(-1).setAttribute("stroke", legend[dialogues[index][1]].dataset.colour);
    }
    picked.replaceChildren();
    if (index < 0) return line("p", hint, picked);
    const [id, label, turns] = dialogues[index];
    line("p", "", picked).append(Object.assign(document.createElement("strong"), { textContent: id }), ` · ${labels[label]}`);
    for (const [speaker, text] of turns) line("p", `${speaker}: ${text}`, picked);
  }

  // Names keep their size on the screen, and those that were waiting for a place appear as points move apart.
  function rename({ names, view }) {
    for (const name of names) {
      const { label, zoom } = name.dataset, fits = SIDE / view.side >= Number(zoom) || only === Number(label);
      name.setAttribute("visibility", fits && (only < 0 || only === Number(label)) ? "visible" : "hidden");
      name.style.fontSize = `${FONT * view.side / SIDE}px`;
      name.style.strokeWidth = `${HALO * view.side / SIDE}px`;
    }
  }

  function show(map, x, y, side) {
    const within = (value) => Math.min(Math.max(value, 0), SIDE - side);
    map.view = { x: within(x), y: within(y), side };
    map.svg.setAttribute("viewBox", `${map.view.x} ${map.view.y} ${side} ${side}`);
    map.svg.classList.toggle("zoomed", side < SIDE);
    rename(map);
  }

  function zoom(map, factor) {
    const { x, y, side } = map.view;
    const next = Math.min(Math.max(side / factor, SIDE / CLOSEST), SIDE);
    const [cx, cy] = current < 0 ? [x + side / 2, y + side / 2] : map.place(dialogues[current]);
    show(map, cx - next / 2, cy - next / 2, next);
  }

  // Position of the pointer and size of a pixel, both in map units.
  function located(map, event) {
    const box = map.svg.getBoundingClientRect(), unit = map.view.side / box.width;
    return { x: map.view.x + (event.clientX - box.left) * unit, y: map.view.y + (event.clientY - box.top) * unit, unit };
  }

  function nearest(map, { x, y, unit }) {
    let best = -1, lowest = (REACH * unit) ** 2;
    dialogues.forEach((dialogue, index) => {
      const [px, py] = map.place(dialogue), distance = (px - x) ** 2 + (py - y) ** 2;
      if (distance < lowest && visible(index)) [best, lowest] = [index, distance];
    });
    return best;
  }

  // The next dialogue in a direction: near, and at most 45 degrees off. If none is picked: the nearest to the centre.
  function step(map, dx, dy) {
    const { x, y, side } = map.view;
    if (current < 0) return nearest(map, { x: x + side / 2, y: y + side / 2, unit: SIDE });
    const [fromX, fromY] = map.place(dialogues[current]);
    let best = current, lowest = Infinity;
    dialogues.forEach((dialogue, index) => {
      const [px, py] = map.place(dialogue), ahead = (px - fromX) * dx + (py - fromY) * dy;
      const sideways = Math.abs((px - fromX) * dy) + Math.abs((py - fromY) * dx);
      const cost = ahead + 2 * sideways;
      if (ahead > 0 && ahead >= sideways && cost < lowest && visible(index)) [best, lowest] = [index, cost];
    });
    return best;
  }

  // Moves the map if the picked dialogue is out of view.
  function follow(map) {
    if (current < 0) return;
    const { x, y, side } = map.view, [px, py] = map.place(dialogues[current]);
    if (px < x || py < y || px > x + side || py > y + side) show(map, px - side / 2, py - side / 2, side);
  }

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const act = (map, action) => (action === "all" ? show(map, 0, 0, SIDE) : zoom(map, action === "in" ? 1.6 : 1 / 1.6));

  for (const map of maps) {
    let drag = null;
    map.svg.addEventListener("pointerdown", (event) => {
      const index = nearest(map, located(map, event));
      if (index >= 0) pick(index);
      if (map.view.side === SIDE) return;
      drag = { x: event.clientX, y: event.clientY, view: map.view };
      map.svg.setPointerCapture(event.pointerId);
    });
    map.svg.addEventListener("pointermove", (event) => {
      if (drag) {
        const { unit } = located(map, event), { x, y, side } = drag.view;
        show(map, x - (event.clientX - drag.x) * unit, y - (event.clientY - drag.y) * unit, side);
      } else if (event.pointerType === "mouse") {
        const index = nearest(map, located(map, event));
        if (index >= 0) pick(index);
      }
    });
    for (const end of ["pointerup", "pointercancel"]) map.svg.addEventListener(end, () => { drag = null; });
    map.svg.addEventListener("keydown", (event) => {
      const arrow = ARROWS[event.key], action = { "+": "in", "=": "in", "-": "out", 0: "all" }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || !(arrow || action)) return;
      event.preventDefault();
      if (action) return act(map, action);
      pick(step(map, ...arrow));
      maps.forEach(follow);
    });
    for (const button of map.svg.parentElement.querySelectorAll(".controls button")) {
      button.addEventListener("click", () => act(map, button.dataset.action));
    }
  }

  legend.forEach((button, label) => button.addEventListener("click", () => {
    only = only === label ? -1 : label;
    legend.forEach((other, index) => other.setAttribute("aria-pressed", String(index === only)));
    for (const map of maps) {
      map.layers.forEach((layer, index) => { layer.style.display = only < 0 || index === only ? "" : "none"; });
      rename(map);
    }
    if (current >= 0 && !visible(current)) pick(-1);
  }));

  line("p", hint, picked);
  for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;
})();
