// Draws the courses of one corpus twice: over the steps, and as paths of uniformity and alignment.
(() => {
  "use strict";
  const LEFT = 52, RIGHT = 446, TOP = 12, BOTTOM = 298, NAMES = ["step", "purity", "Spearman", "MAP", "uniformity", "adjusted alignment"];
  const { courses, colours } = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const corpus = element("corpus"), task = element("task"), legend = element("legend"), picked = element("picked");
  const plots = [{ svg: element("steps"), of: () => [0, Number(task.value)] }, { svg: element("path"), of: () => [4, 5] }];
  const hidden = new Set();
  let current = null;

  function draw(tag, attributes, parent, text) {
    const made = parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const mine = () => courses.filter((course) => course.corpus === corpus.value);
  const visible = () => mine().filter((course) => !hidden.has(course.title));
  const colour = (course) => colours[mine().indexOf(course) % colours.length];
  // Where the colours begin again, dashes tell the courses apart.
  const dashes = (course) => ["none", "7 4", "2 4"][Math.floor(mine().indexOf(course) / colours.length) % 3];

  // A scale from the values to pixels with a margin, and round numbers for its ticks.
  function scale(values, from, to, least = 0) {
    let low = Math.min(...values), high = Math.max(...values);
    const margin = (high - low) * 0.08 || Math.abs(high) * 0.01 || 1;
    [low, high] = [low - margin, high + margin];
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(least, power * [1, 2, 5, 10].find((factor) => factor * power >= rough));
    const ticks = [];
    // Whole multiples: adding up steps ends beside zero, and "-0.0".
    for (let times = Math.ceil(low / step); times * step <= high; times += 1) ticks.push(times * step + 0);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    return { at: (value) => from + ((value - low) / (high - low)) * (to - from), ticks, digits };
  }

  function axes(plot, x, y, names) {
    draw("path", { class: "axis", d: `M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}`, fill: "none" }, plot.svg);
    for (const tick of x.ticks) draw("text", { x: x.at(tick), y: BOTTOM + 16, "text-anchor": "middle" }, plot.svg, tick.toFixed(x.digits));
    for (const tick of y.ticks) draw("text", { x: LEFT - 6, y: y.at(tick) + 4, "text-anchor": "end" }, plot.svg, tick.toFixed(y.digits));
    draw("text", { x: (LEFT + RIGHT) / 2, y: BOTTOM + 34, "text-anchor": "middle" }, plot.svg, names[0]);
    draw("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${(TOP + BOTTOM) / 2}) rotate(-90)` }, plot.svg, names[1]);
  }

  function show() {
    for (const plot of plots) {
      plot.svg.replaceChildren();
      plot.marks = [];
      const shown = visible(), [across, up] = plot.of(), points = shown.flatMap((course) => course.points);
      if (!points.length) continue;
      const x = scale(points.map((point) => point[across]), LEFT, RIGHT, across ? 0 : 1), y = scale(points.map((point) => point[up]), BOTTOM, TOP);
      axes(plot, x, y, [NAMES[across], NAMES[up]]);
      for (const course of shown) {
        const stroke = colour(course), places = course.points.map((point) => [x.at(point[across]), y.at(point[up])]);
        draw("polyline", { points: places.map((place) => place.join(",")).join(" "), stroke, "stroke-dasharray": dashes(course) }, plot.svg);
        places.forEach(([px, py], index) => {
          const step = course.points[index][0];
          if (index) draw("circle", { cx: px, cy: py, r: 2.5, fill: stroke }, plot.svg);
          else draw("rect", { x: px - 5, y: py - 5, width: 10, height: 10, fill: stroke }, plot.svg);
          if (step === course.chosen[0]) draw("rect", { x: px - 7, y: py - 7, width: 14, height: 14, fill: "none", stroke, "stroke-width": 1.6 }, plot.svg);
          if (step === course.chosen[1]) draw("circle", { cx: px, cy: py, r: 11, fill: "none", stroke, "stroke-width": 1.6 }, plot.svg);
          plot.marks.push({ course, index, px, py });
        });
      }
      plot.here = draw("circle", { class: "here", r: 15, visibility: "hidden" }, plot.svg);
    }
    pick(current);
  }

  function say(text) {
    picked.appendChild(document.createElement("p")).textContent = text;
  }

  function pick(mark) {
    current = mark && visible().includes(mark.course) ? mark : null;
    picked.replaceChildren();
    for (const plot of plots) {
      const found = current && plot.marks.find(({ course, index }) => course === current.course && index === current.index);
      plot.here?.setAttribute("visibility", found ? "visible" : "hidden");
      if (found) { plot.here.setAttribute("cx", found.px); plot.here.setAttribute("cy", found.py); }
    }
    if (!current) return say("Point at a checkpoint, tap it, or go to a plot with Tab and from checkpoint to checkpoint with the arrow keys.");
    const point = current.course.points[current.index];
    say(`${current.course.title}, step ${point[0]} · MLflow run ${current.course.run.slice(0, 8)}`);
    say(NAMES.slice(1).map((name, index) => `${name} ${point[index + 1].toFixed(2)}`).join(" · "));
  }

  function nearest(plot, event) {
    const box = plot.svg.getBoundingClientRect(), unit = 460 / box.width;
    const x = (event.clientX - box.left) * unit, y = (event.clientY - box.top) * unit;
    let best = null, least = 40 ** 2;
    for (const mark of plot.marks) {
      const distance = (mark.px - x) ** 2 + (mark.py - y) ** 2;
      if (distance < least) [best, least] = [mark, distance];
    }
    return best;
  }

  function step(event) {
    const [along, across] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key] ?? [0, 0];
    const shown = visible();
    if ((!along && !across) || !shown.length) return;
    event.preventDefault();
    if (!current) return pick({ course: shown[0], index: 0 });
    const course = shown[(shown.indexOf(current.course) + across + shown.length) % shown.length];
    pick({ course, index: Math.min(Math.max(current.index + along, 0), course.points.length - 1) });
  }

  function listed() {
    legend.replaceChildren();
    for (const course of mine()) {
      const button = legend.appendChild(document.createElement("li")).appendChild(document.createElement("button"));
      const swatch = button.appendChild(document.createElement("span"));
      swatch.className = "swatch";
      swatch.style.background = `repeating-linear-gradient(90deg, ${colour(course)} 0 ${dashes(course).split(" ")[0].replace("none", "9")}px, transparent 0 ${dashes(course) === "none" ? 9 : 11}px)`;
      button.append(course.title);
      button.type = "button";
      button.setAttribute("aria-pressed", String(!hidden.has(course.title)));
      button.addEventListener("click", () => {
        if (!hidden.delete(course.title)) hidden.add(course.title);
        button.setAttribute("aria-pressed", String(!hidden.has(course.title)));
        show();
      });
    }
    show();
  }

  for (const name of new Set(courses.map((course) => course.corpus))) corpus.add(new Option(name));
  for (const plot of plots) {
    plot.svg.addEventListener("pointermove", (event) => {
      // A finger that moves scrolls the page.
      const mark = event.pointerType === "touch" ? null : nearest(plot, event);
      if (mark && (mark.course !== current?.course || mark.index !== current.index)) pick(mark);
    });
    plot.svg.addEventListener("pointerdown", (event) => { const mark = nearest(plot, event); if (mark) pick(mark); });
    plot.svg.addEventListener("keydown", step);
  }
  corpus.addEventListener("change", listed);
  task.addEventListener("change", show);
  for (const one of document.querySelectorAll(".needs-script")) one.hidden = false;
  listed();
})();
