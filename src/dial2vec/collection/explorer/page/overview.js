// @ts-check
"use strict";
// The table of topics: areas with their topics by size; the chosen group unfolds.

// Topics of an area that are listed at first, if there are few and many topics: several areas fit on one screen.
const MANY_TOPICS = 12, FIRST_OF_FEW = 4, FIRST_OF_MANY = 2;
// Points of a trend: weeks with few dialogues would only jitter.
const TREND_POINTS = 12, [TREND_WIDTH, TREND_HEIGHT] = [52, 18];
const SVG = "http://www.w3.org/2000/svg";
const [AREA, TOPIC, FINE] = [0, 1, 2];

const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0095 ? 1 : 0)}%`;

class Overview {
  // content: groups and news; on: {set(change), preview(group)}
  constructor(box, content, on) {
    Object.assign(this, { box, on });
    this.take(content);
  }

  // Show other groups, after a decision about them.
  take(content) {
    Object.assign(this, { content, rows: [[], [], []], chosen: "" });
    this.box.replaceChildren();
    const { groups, news } = content;
    if (!groups) return this.#offer(news);
    element("h2", "Topics", this.box, { className: "unseen" });
    const list = element("ul", "", this.box, { className: "areas" });
    groups[AREA].forEach((area, at) => this.#area(area, at, list));
    return undefined;
  }

  // view: {counts: number of dialogues per group that meet all conditions but the topic, passes(name), narrowed, state}
  update(view) {
    const { groups } = this.content;
    if (!groups) return;
    this.view = view;
    const total = view.passes("topic").reduce((sum, one) => sum + one, 0);
    this.#paint(view.state.colour);
    this.rows.forEach((rows, level) => {
      const largest = Math.max(1, ...groups[level].map(({ size }) => size)) / Math.max(1, this.content.ids.length);
      rows.forEach((row, at) => row?.count(view.counts[level][at], total, largest));
    });
    this.#mark(view.state.topic);
  }

  #offer(news) {
    element("p", "This collection has no topics yet. This command finds them; then open this page again:", this.box);
    element("code", news.command, element("p", "", this.box));
  }

  // An area of one topic is that topic.
  #area(area, at, list) {
    const { topics } = area, alone = topics.length === 1;
    const first = this.content.groups[TOPIC].length > MANY_TOPICS ? FIRST_OF_MANY : FIRST_OF_FEW, few = topics.length <= first + 1;
    if (alone) return this.#topic(topics[0], list, "topic alone");
    const row = this.#row(AREA, at, list, "area"), inner = element("ul", "", row.item);
    if (area.summary) element("p", area.summary, row.head, { className: "sentence" });
    topics.forEach((topic, place) => this.#topic(topic, inner, place < first || few ? "topic" : "topic later"));
    if (!few) this.#fold(inner, topics.length - first, nameOf(area));
    return undefined;
  }

  #topic(at, list, className) {
    const topic = this.content.groups[TOPIC][at], row = this.#row(TOPIC, at, list, className);
    const { quote, stands_out: findings } = topic;
    element("p", topic.summary || `“${quote.text}”`, row.head, { className: "sentence" });
    if (findings.length) element("p", findings.slice(0, 2).join(" · "), row.head, { className: "findings" });
  }

  // A button that shows the smaller topics of an area, too.
  #fold(list, count, name) {
    list.classList.add("folded");
    const item = element("li", "", list, { className: "rest" });
    const button = element("button", `${count} smaller topics`, item, { type: "button" });
    button.setAttribute("aria-label", `${count} smaller topics of ${name}`);
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      const folded = list.classList.toggle("folded");
      button.setAttribute("aria-expanded", String(!folded));
    });
  }

  #row(level, at, list, className) {
    const row = new GroupRow(this.content, level, at, list, className);
    this.rows[level][at] = row;
    row.button.addEventListener("click", () => this.#choose(level, at));
    this.#previews(row.head, [level, at]);
    return row;
  }

  // A second click takes the choice back.
  #choose(level, at) {
    const { topic } = this.view.state, again = topic?.[0] === level && topic[1] === at;
    this.on.set({ topic: again ? null : [level, at] });
  }

  #previews(part, group) {
    const show = () => this.on.preview(group), hide = () => this.on.preview(null);
    part.addEventListener("pointerenter", ({ pointerType }) => { if (pointerType === "mouse") show(); });
    part.addEventListener("pointerleave", hide);
    part.addEventListener("focusin", show);
    part.addEventListener("focusout", hide);
  }

  // Give the bars the colours that the groups have on the map, if it is coloured by areas or topics.
  #paint(title) {
    const way = this.content.colourings.find((one) => one.title === title) ?? this.content.colourings[0];
    const [areas, topics] = this.content.groups, levels = { area: AREA, topic: TOPIC };
    const colourOf = (group) => way.colours[way.names.indexOf(group.name)] ?? "";
    areas.forEach((area, at) => this.rows[AREA][at]?.paint(way.title === "area" ? colourOf(area) : ""));
    topics.forEach((topic, at) => this.rows[TOPIC][at].paint(way.title in levels ? colourOf([areas[topic.area], topic][levels[way.title]]) : ""));
  }

  // Mark the chosen group, and unfold it and what holds it.
  #mark(topic) {
    const [level, at] = topic ?? [-1, -1], { groups } = this.content;
    const open = level === FINE ? groups[FINE][at].topic : level === TOPIC ? at : -1;
    this.rows[AREA].forEach((row, place) => row.choose(level === AREA && place === at));
    this.rows[TOPIC].forEach((row, place) => {
      row.choose(level === TOPIC && place === at);
      row.unfold(place === open ? () => this.#details(place, row) : null);
    });
    this.rows[FINE].forEach((row, place) => row.choose(level === FINE && place === at));
    const key = String(topic);
    if (key === this.chosen) return;
    this.chosen = key;
    const shown = this.rows[level === FINE ? TOPIC : level]?.[level === FINE ? open : at];
    shown?.reveal();
  }

  // What is known of a topic, below its row.
  #details(at, row) {
    const { groups, ids } = this.content, topic = groups[TOPIC][at], box = row.more;
    element("p", `Words: ${topic.terms.join(", ")}`, box);
    const rest = topic.stands_out.slice(2);
    if (rest.length) element("p", `Also more often here: ${rest.join(" · ")}`, box);
    if (topic.fine.length) {
      element("h3", "Fine topics", box);
      const list = element("ul", "", box, { className: "fine" });
      for (const fine of topic.fine) this.#row(FINE, fine, list, "part");
    }
    element("h3", "Typical dialogues", box);
    const list = element("ul", "", box, { className: "typical" });
    for (const { row: place, turn, speaker, text } of topic.quotes) {
      const button = element("button", "", element("li", "", list), { type: "button" });
      element("span", `${speaker}: ${text}`, button);
      element("small", ids[place], button);
      button.addEventListener("click", () => this.on.set({ open: [ids[place], turn] }));
    }
    this.on.offer?.(box, [TOPIC, at]);
    const all = element("button", "List the dialogues of this topic", box, { type: "button", className: "all" });
    all.addEventListener("click", () => this.on.set({ topic: [TOPIC, at], panel: "dialogues" }));
    this.update(this.view);
  }
}

// One group: its name as a button, its share as a bar, its trend, and what unfolds below.
class GroupRow {
  constructor(content, level, at, list, className) {
    const group = content.groups[level][at];
    Object.assign(this, { level, all: group.size / Math.max(1, content.ids.length) });
    this.item = element("li", "", list, { className });
    this.head = element("div", "", this.item, { className: "row" });
    const line = element(level === AREA ? "h3" : "div", "", this.head, { className: "line" });
    this.button = element("button", "", line, { type: "button" });
    element("span", nameOf(group), this.button);
    if (group.change?.kind === "new") element("span", "new", this.button, { className: "badge" });
    this.share = element("span", "", this.button, { className: "share" });
    this.otherwise = element("span", "", this.button, { className: "unseen" });
    if (group.trend?.length > 1) this.head.append(trendOf(group.trend, content.news));
    this.bar = element("div", "", this.head, { className: "bar", ariaHidden: "true" });
    this.filled = element("span", "", this.bar);
    this.usual = element("span", "", this.bar, { className: "usual", hidden: true });
    this.more = element("div", "", this.item, { className: "more", hidden: true });
    if (level === TOPIC) this.button.setAttribute("aria-expanded", "false");
    this.choose(false);
  }

  // count of total dialogues; largest: the share that fills the bar. Where the share is not the usual one, that is marked.
  count(count, total, largest) {
    const share = count / Math.max(1, total), part = (one) => `${Math.min(100, (100 * one) / largest)}%`;
    // Shares of fine topics are so small that numbers say more.
    this.share.textContent = this.level === FINE ? count.toLocaleString("en") : percent(share);
    this.share.title = many(count);
    this.filled.style.width = part(share);
    this.usual.hidden = percent(share) === percent(this.all);
    this.otherwise.textContent = this.usual.hidden ? "" : `, of all dialogues ${percent(this.all)}`;
    this.usual.style.left = part(this.all);
    this.item.classList.toggle("none", count === 0);
  }

  // Its parts below take the colour over; "" for that of what holds it.
  paint(colour) {
    if (colour) this.item.style.setProperty("--own", colour);
    else this.item.style.removeProperty("--own");
  }

  choose(chosen) {
    this.button.setAttribute("aria-pressed", String(chosen));
    this.item.classList.toggle("chosen", chosen);
  }

  // fill: makes the details, null to fold them.
  unfold(fill) {
    if (this.more.hidden !== Boolean(fill)) return;
    this.more.hidden = !fill;
    this.button.setAttribute("aria-expanded", String(Boolean(fill)));
    if (fill && !this.more.childElementCount) fill();
  }

  // Bring the row into sight.
  reveal() {
    if (this.item.matches(".folded > .later")) this.item.parentElement.querySelector(".rest button").click();
    for (const part of [this.item, this.head]) part.scrollIntoView({ block: "nearest" });
  }
}

// The share of a group over time as a small line; the last periods, which are compared with those before, are shaded.
function trendOf(counts, { totals, first_late: late }) {
  const points = [], step = Math.ceil(totals.length / TREND_POINTS), sum = (values, from) => values.slice(from, from + step).reduce((a, b) => a + b, 0);
  for (let from = 0; from < totals.length; from += step) points.push(sum(counts, from) / Math.max(1, sum(totals, from)));
  const most = Math.max(...points, 1e-9), last = points.length - 1;
  const x = (i) => 2 + ((TREND_WIDTH - 5) * i) / Math.max(1, last), y = (share) => TREND_HEIGHT - 2 - (TREND_HEIGHT - 5) * (share / most);
  const drawn = (tag, attributes, parent) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    parent?.append(made);
    return made;
  };
  const svg = drawn("svg", { class: "trend", viewBox: `0 0 ${TREND_WIDTH} ${TREND_HEIGHT}`, role: "img", "aria-label": `Share at first ${percent(points[0])}, at last ${percent(points[last])}` });
  if (late > 0) drawn("rect", { x: x(late / step - 0.5), y: 0, width: TREND_WIDTH - x(late / step - 0.5), height: TREND_HEIGHT }, svg);
  drawn("path", { d: `M${points.map((share, i) => `${x(i).toFixed(1)},${y(share).toFixed(1)}`).join("L")}` }, svg);
  drawn("circle", { cx: x(last), cy: y(points[last]), r: 2 }, svg);
  return svg;
}
