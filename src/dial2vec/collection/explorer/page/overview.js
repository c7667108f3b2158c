// @ts-check
"use strict";
// The table of topics: areas with their topics, as rows or as a treemap; the chosen group unfolds.

// Topics of the largest areas that are listed at first, so that all areas fit on one screen.
const FIRST_TOPICS = 8;
// Points of a trend: weeks with few conversations would only jitter.
const TREND_POINTS = 18, [TREND_WIDTH, TREND_HEIGHT] = [56, 18];
const SVG = "http://www.w3.org/2000/svg";
const [AREA, TOPIC, FINE] = [0, 1, 2];

const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0095 ? 1 : 0)}%`;

class Overview {
  // content: groups and news; on: {set(change), preview(group), offer(box, group)}
  constructor(box, content, on) {
    Object.assign(this, { box, on, sort: "share", rising: false, column: "", opened: new Map() });
    this.take(content);
  }

  // Show other groups, after a decision about them.
  take(content) {
    Object.assign(this, { content, rows: [[], [], []], chosen: "" });
    this.box.replaceChildren();
    const { groups, news } = content;
    if (!groups) {
      element("p", "This collection has no topics yet. This command finds them; then open this page again:", this.box);
      element("code", news.command, element("p", "", this.box));
      return;
    }
    element("h2", "Topics", this.box, { className: "unseen" });
    this.#head(groups);
    this.list = element("ul", "", this.box, { className: "areas" });
    let listed = 0;
    this.top = groups[AREA].map((area, at) => this.#area(area, at, (listed += area.topics.length) <= FIRST_TOPICS));
    this.rest = button("", this.box, () => { this.all = !this.all; this.update(this.view); }, { className: "rest" });
    const on = { choose: (level, at) => this.#choose(level, at), previews: (part, group) => this.#previews(part, group) };
    this.treemap = new Treemap(element("ul", "", this.box, { id: "treemap", ariaLabel: "Treemap" }), groups, on);
  }

  // view: {counts: number of conversations per group that meet all conditions but the topic, passes(name), state}
  update(view) {
    const { groups, ids } = this.content;
    if (!groups) return;
    this.view = view;
    const total = sum(view.passes("topic"));
    // One scale for all bars.
    const largest = Math.max(1, ...groups[AREA].map(({ size }) => size)) / Math.max(1, ids.length);
    this.rows.forEach((rows, level) => rows.forEach((row, at) => row?.count(view.counts[level][at], total, largest, this.column)));
    const colours = this.#paint(view.state.colour);
    this.#mark(view.state.topic);
    this.#arrange(total < ids.length);
    for (const one of this.box.querySelectorAll(".first button")) one.setAttribute("aria-pressed", String(one.textContent === this.box.dataset.view));
    this.treemap.update(view.counts, total, colours, view.state.topic);
  }

  // What the columns are, and by which of them the rows are sorted; the last one is the trend or a number.
  #head([areas, topics]) {
    const head = element("div", "", this.box, { className: "heads" }), first = element("div", "", head, { className: "first" });
    const several = areas.filter((area) => area.topics.length > 1).length;
    element("span", `${several ? `${counted(several, "area")}, ` : ""}${counted(topics.length, "topic")}`, first);
    const ways = element("div", "", first, { role: "group", ariaLabel: "View" });
    for (const name of ["List", "Treemap"]) button(name, ways, () => { this.box.dataset.view = name; this.update(this.view); });
    const sort = (key, rising) => { Object.assign(this, { sort: key, rising }); this.update(this.view); };
    this.sorts = ["share", "change", "number"].map((key) => button("", head, () => sort(key, key === this.sort && !this.rising), { className: key }));
    const columns = new Set(topics.flatMap(({ numbers }) => Object.keys(numbers ?? {}))), names = ["", ...columns];
    // Periods are named by their first day, month or year; a point of a line may stand for several.
    const { periods: { length, 0: from = "", 1: next } } = this.content.news, days = (Date.parse(next) - Date.parse(from)) / DAY_MS;
    const trend = (length <= TREND_POINTS && ({ 4: "Yearly", 7: "Monthly" }[from.length] ?? { 1: "Daily", 7: "Weekly" }[days])) || "Over time";
    this.choice = element("select", "", head, { ariaLabel: "Last column" });
    for (const value of names) element("option", value || trend, this.choice, { value });
    this.choice.value = this.column = names.includes(this.column) ? this.column : "";
    this.choice.addEventListener("change", () => { this.column = this.choice.value; sort(this.column ? "number" : "share", false); });
    this.box.dataset.view ??= "List";
  }

  // An area of one topic is that topic.
  #area(area, at, open) {
    const { topics } = area, { id } = area;
    if (topics.length === 1) return this.#topic(topics[0], this.list, "area topic alone");
    const row = this.#row(AREA, at, this.list, "area"), inner = element("ul", "", row.item);
    const toggle = button("", row.line, () => { this.opened.set(id, toggle.ariaExpanded !== "true"); this.update(this.view); }, { className: "toggle" });
    return Object.assign(row, { inner, toggle, open, parts: topics.map((topic) => this.#topic(topic, inner, "topic")) });
  }

  #topic(at, list, className) {
    const row = this.#row(TOPIC, at, list, className), tools = element("div", "", row.item, { className: "decide" });
    // What can be decided about a topic is behind one button of its row.
    if (this.content.writable) button("⋯", row.line, () => (tools.childElementCount ? tools.replaceChildren() : this.on.offer(tools, [TOPIC, at])),
      { className: "dots", ariaLabel: `Correct ${nameOf(row.group)}` });
    return row;
  }

  #row(level, at, list, className) {
    const row = new GroupRow(this.content, level, at, list, className);
    this.rows[level][at] = row;
    row.button.addEventListener("click", () => this.#choose(level, at));
    this.#previews(row.head, [level, at]);
    return row;
  }

  // Sort the rows; fold topics away, but none that is chosen or changed, or has hits.
  #arrange(narrowed) {
    this.sorts.forEach((head, at) => {
      const key = ["share", "change", "number"][at], own = key === this.sort;
      head.textContent = `${["Share", "Change", ""][at]} ${own ? "↓↑"[Number(this.rising)] : ["", "", "↕"][at]}`;
      head.ariaLabel = `Sort by ${["share", "change", this.column][at]}${own ? (this.rising ? ", now the least first" : ", now the most first") : ""}`;
      head.hidden = key === "number" && !this.column;
    });
    this.#order(this.list, this.top);
    let without = 0;
    for (const row of this.top) {
      const none = narrowed && !row.found && !row.chosen;
      without += none ? row.parts?.length ?? 1 : 0;
      row.item.hidden = none && !this.all;
      if (row.parts) this.#fold(row, narrowed);
    }
    this.rest.hidden = !without;
    this.rest.textContent = `${counted(without, "topic")} without a hit ${this.all ? "▴" : "▾"}`;
  }

  #fold({ group, inner, toggle, parts, open, chosen }, narrowed) {
    const wish = this.opened.get(group.id), all = wish ?? (open || chosen || parts.some((part) => part.chosen));
    this.#order(inner, parts);
    for (const part of parts) part.item.hidden = !(part.chosen || (narrowed && wish === undefined ? part.found : all || (wish ?? part.group.change)));
    const away = parts.filter(({ item }) => item.hidden), grew = away.filter((part) => part.group.change?.kind === "more").length;
    toggle.textContent = away.length ? `▸ ${away.length}${grew ? `, ${grew} grew` : ""}` : "▾";
    toggle.ariaExpanded = String(!away.length);
    toggle.ariaLabel = `${counted(away.length || parts.length, away.length ? "smaller topic" : "topic")} of ${nameOf(group)}${grew ? `, ${grew} grew` : ""}`;
  }

  // Groups without a topic of their own come last; the focus stays where it is.
  #order(list, rows) {
    const sign = this.rising ? 1 : -1, size = ({ group }) => group.size, unclear = ({ group }) => Number(Boolean(group.unclear));
    const valueOf = ({ found, group: { change, numbers } }) =>
      ({ share: found, change: change ? change.after - change.before : 0, number: numbers?.[this.column] ?? sign * Infinity })[this.sort];
    const sorted = [...rows].sort((a, b) => unclear(a) - unclear(b) || sign * (valueOf(a) - valueOf(b)) || size(b) - size(a));
    if (sorted.every(({ item }, place) => list.children[place] === item)) return;
    const active = document.activeElement;
    list.prepend(...sorted.map(({ item }) => item));
    active?.focus({ preventScroll: true });
  }

  // A second click takes the choice back.
  #choose(level, at) {
    const { topic } = this.view.state, again = topic?.[0] === level && topic[1] === at;
    this.on.set({ topic: again ? null : [level, at] });
  }

  #previews(part, group) {
    for (const [kind, shown] of [["pointerenter", group], ["pointerleave", null], ["focusin", group], ["focusout", null]]) {
      part.addEventListener(kind, ({ pointerType }) => { if (pointerType !== "touch") this.on.preview(shown); });
    }
  }

  // Give the bars the colours that the groups have on the map, if it is coloured by areas or topics; return them.
  #paint(title) {
    const way = this.content.colourings.find((one) => one.title === title) ?? this.content.colourings[0];
    const [areas, topics] = this.content.groups, level = ["area", "topic"].indexOf(way.title);
    const colourOf = (area, topic) => way.colours[way.names.indexOf([areas[area], topics[topic]][level]?.name)] ?? "";
    const colours = [areas.map((area, at) => colourOf(at, area.topics[0])), topics.map(({ area }, at) => colourOf(area, at))];
    // Its parts take the colour over; "" stands for that of what holds it.
    colours.forEach((own, at) => own.forEach((colour, place) => this.rows[at][place]?.item.style.setProperty("--own", colour)));
    return colours;
  }

  // Mark the chosen group, and unfold it and what holds it.
  #mark(topic) {
    const [level, at] = topic ?? [-1, -1], { groups } = this.content;
    const open = level === FINE ? groups[FINE][at].topic : level === TOPIC ? at : -1;
    this.rows.forEach((rows, own) => rows.forEach((row, place) => {
      const chosen = level === own && place === at, opened = own === TOPIC && place === open;
      Object.assign(row, { chosen: chosen || opened });
      row.button.ariaPressed = String(chosen);
      row.item.classList.toggle("chosen", chosen);
      row.more.hidden = !opened;
      if (own === TOPIC) row.button.ariaExpanded = String(opened);
      if (opened && !row.more.childElementCount) this.#details(place, row);
    }));
    const key = String(topic), shown = this.rows[level === FINE ? TOPIC : level]?.[level === FINE ? open : at];
    if (key === this.chosen) return;
    this.chosen = key;
    // Once it is no longer folded away.
    queueMicrotask(() => [shown?.item, shown?.head].forEach((part) => part?.scrollIntoView({ block: "nearest" })));
  }

  // What is known of a topic, below its row.
  #details(at, row) {
    const { ids, news } = this.content, { group: topic, more: box } = row, { change, stands_out: findings } = topic;
    if (!row.top) element("p", saidOf(topic), box);
    element("p", `Words: ${topic.terms.join(", ")}`, box, { className: "soft" });
    if (change) element("p", `From ${percent(change.before)} to ${percent(change.after)} since ${news.since}.`, box);
    if (findings.length) element("p", `More often here: ${findings.join(" · ")}`, box);
    if (topic.fine.length) {
      element("h3", "Parts", box);
      const list = element("ul", "", box, { className: "fine" });
      for (const fine of topic.fine) this.#row(FINE, fine, list, "part");
    }
    element("h3", "Typical conversations", box);
    const list = element("ul", "", box, { className: "typical" });
    for (const { row: place, turn, text } of topic.quotes) {
      const open = button("", element("li", "", list), () => this.on.set({ open: [ids[place], turn] }));
      element("span", text, open);
      element("small", ids[place], open);
    }
    button("List the conversations of this topic", box, () => this.on.set({ topic: [TOPIC, at], panel: "dialogues" }));
    this.update(this.view);
  }
}

// One group: its name as a button, its share as a bar, how it changed, its trend or a number, and what unfolds below.
class GroupRow {
  constructor(content, level, at, list, className) {
    const group = content.groups[level][at], { change } = group, top = className !== "topic" && level !== FINE;
    Object.assign(this, { level, group, top, all: group.size / Math.max(1, content.ids.length) });
    this.item = element("li", "", list, { className: group.unclear ? `${className} unclear` : className });
    this.head = element("div", "", this.item, { className: "row" });
    this.line = element(level === AREA ? "h3" : "div", "", this.head, { className: "line" });
    this.button = element("button", "", this.line, { type: "button" });
    element("span", nameOf(group), this.button, { title: nameOf(group) });
    this.otherwise = element("span", "", this.button, { className: "unseen" });
    if (change?.kind === "new") element("span", "new", this.line, { className: "badge" });
    if (top) element("p", saidOf(group.topics ? content.groups[TOPIC][group.topics[0]] : group, group.summary), this.head, { className: "sentence" });
    this.bar = element("div", "", this.head, { className: "bar", ariaHidden: "true" });
    this.filled = element("span", "", this.bar);
    this.usual = element("span", "", this.bar, { className: "usual", hidden: true });
    this.share = element("span", "", this.head, { className: "share", ariaHidden: "true" });
    element("span", change ? pointsOf(change) : "–", this.head, { className: "change" }).dataset.kind = change?.kind ?? "";
    this.last = element("span", "", this.head, { className: "figure" });
    this.trend = group.trend?.length > 1 ? trendOf(group.trend, content.news) : "";
    this.more = element("div", "", this.item, { className: "more", hidden: true });
  }

  // count of total conversations; largest: the share that fills the bar; column: key of the number in the last column, ""
  // for the trend. Where the share is not the usual one, that is marked.
  count(count, total, largest, column) {
    const share = count / Math.max(1, total), part = (one) => `${Math.min(100, (100 * one) / largest)}%`, number = this.group.numbers?.[column];
    this.found = count;
    // Shares of fine topics are so small that numbers say more.
    this.share.textContent = this.level === FINE ? count.toLocaleString("en") : percent(share);
    this.share.title = many(count);
    this.filled.style.width = part(share);
    this.usual.hidden = percent(share) === percent(this.all);
    this.otherwise.textContent = `, ${this.share.textContent}${this.usual.hidden ? "" : `, of all ${percent(this.all)}`}`;
    this.usual.style.left = part(this.all);
    this.item.classList.toggle("none", count === 0);
    this.last.replaceChildren(!column ? this.trend : number === undefined ? "–" : `${Number(number.toPrecision(3))}${column.startsWith("%") ? "%" : ""}`);
  }
}

// In percentage points: "+10 pts".
const pointsOf = ({ before, after }) => `${after < before ? "−" : "+"}${percent(Math.abs(after - before)).slice(0, -1)} pts`;
// What a language model says about a topic, or what somebody has said in it.
const saidOf = ({ summary, quote }, own = summary) => own || (quote ? `“${quote.text}”` : "");

// The share of a group over time as a small line; the last periods, which are compared with those before, are shaded.
function trendOf(counts, { totals, first_late: late }) {
  const points = [], step = Math.ceil(totals.length / TREND_POINTS), sum = (values, from) => values.slice(from, from + step).reduce((a, b) => a + b, 0);
  for (let from = 0; from < totals.length; from += step) points.push(sum(counts, from) / Math.max(1, sum(totals, from)));
  const most = Math.max(...points, 1e-9), last = points.length - 1;
  const x = (i) => 1 + ((TREND_WIDTH - 2) * i) / Math.max(1, last), y = (share) => TREND_HEIGHT - 2 - (TREND_HEIGHT - 5) * (share / most);
  const drawn = (tag, attributes, parent) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    parent?.append(made);
    return made;
  };
  const svg = drawn("svg", { class: "trend", viewBox: `0 0 ${TREND_WIDTH} ${TREND_HEIGHT}`, role: "img", "aria-label": `Share at first ${percent(points[0])}, at last ${percent(points[last])}` });
  if (late > 0) drawn("rect", { x: x(late / step - 0.5), y: 0, width: TREND_WIDTH - x(late / step - 0.5), height: TREND_HEIGHT }, svg);
  drawn("path", { d: `M${points.map((share, i) => `${x(i).toFixed(1)},${y(share).toFixed(1)}`).join("L")}` }, svg);
  return svg;
}
