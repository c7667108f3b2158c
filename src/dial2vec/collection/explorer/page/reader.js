// @ts-check
"use strict";
// One conversation: what speaks for it, its turns as bubbles, its segments at the margin, what matches the search, and
// why it is in its topic.

// Colours of segments; the same topic has the same one within a conversation. Letters of the title. Shares of the others
// of a topic that are farther from its centre, from which a conversation is typical, or up to which it is at the edge.
const HUES = 6, TITLE = 90, TYPICAL = 0.75, EDGE = 0.1;

class Reader {
  // curation: a Curation; about(row) is [id, [detail, ...]]; on: {set(change), pick(row), mark(row), say(sentence)}
  constructor(box, source, content, curation, about, on) {
    Object.assign(this, { box, source, content, curation, about, on, row: -1, shown: -1, read: null, view: null });
    this.#build();
    box.addEventListener("keydown", (event) => this.#key(event));
  }

  // Take over content that was loaded again; the open conversation is read again, because its group may be another one.
  take(content) {
    this.content = content;
    this.read = null;
  }

  // Show the conversation of the state, or close.
  async update(view) {
    const before = this.view, { open } = view.state;
    this.view = view;
    if (!open) return this.#close();
    const row = this.content.ids[this.row] === open[0] ? this.row : this.content.ids.indexOf(open[0]);
    if (row < 0) return this.#close();
    if (row === this.row && this.read) return this.#follow(before);
    return this.#open(row);
  }

  async #open(row) {
    if (this.box.hidden) this.from = document.activeElement;
    this.row = row;
    this.on.pick(row);
    this.on.mark(row);
    try {
      const read = await this.source.dialogue(row);
      if (this.row === row) this.#show(read);
    } catch (error) {
      if (this.row === row) this.#fail(error.message);
    }
  }

  // Nothing to read, and why.
  #fail(sentence) {
    const { title, about, group, own, below, facts, marks } = this.parts;
    for (const box of [group, own, below, marks, byId("turns"), byId("similar")]) box.replaceChildren();
    facts.hidden = byId("similar-title").hidden = true;
    title.textContent = this.box.dataset.id = this.content.ids[this.row];
    about.textContent = sentence;
    this.shown = -1;
    this.box.hidden = false;
    this.box.focus({ preventScroll: true });
    this.on.say(sentence);
  }

  #show(read) {
    const { row } = this, [id, details] = this.about(row), { turns, metadata, date } = read.record, was = this.box.hidden;
    // After a decision the same conversation is read again, and its place in the reader is kept.
    const again = row === this.shown && !was, { scrollTop } = this.box;
    this.shown = row;
    this.read = read;
    this.box.dataset.id = id;
    const said = turns[read.reasons[0] ?? 0]?.text ?? id, time = date?.match(/T(\d\d:\d\d)/)?.[1];
    this.parts.title.textContent = `“${said.length > TITLE ? `${said.slice(0, TITLE - 1).trimEnd()}…` : said}”`;
    this.parts.about.textContent = [...details.filter((one) => one !== read.group?.topic.name), ...(time ? [time] : []), id, `${turns.length} turn${turns.length === 1 ? "" : "s"}`].join(" · ");
    this.#group(read);
    this.#metadata(metadata ?? {});
    this.#similar(read.similar);
    this.parts.own.replaceChildren();
    this.parts.below.replaceChildren();
    this.curation.dialogue(this.parts.own, this.parts.below, id, read);
    this.parts.more.hidden = !this.parts.own.childElementCount;
    this.box.hidden = false;
    if (!again) {
      this.box.scrollTop = 0;
      this.parts.more.open = false;
    }
    this.#mark(!again);
    if (again) this.box.scrollTop = scrollTop;
    if (was) this.box.focus({ preventScroll: true });
    // The reader covers a part of the map.
    this.on.pick(row);
  }

  // The same conversation after another change of the state.
  #follow(before) {
    const [, turn] = this.view.state.open, [, turnBefore] = before?.state.open ?? [null, null];
    if (this.view.hits !== before?.hits) this.#mark();
    else if (turn !== turnBefore && turn >= 0) this.#current(turn);
    this.#place();
  }

  #close() {
    this.row = -1;
    this.read = null;
    if (this.box.hidden) return;
    this.box.hidden = true;
    this.on.pick(-1);
    if (this.from?.isConnected) this.from.focus({ preventScroll: true });
  }

  // The frame, which is the same for all conversations.
  #build() {
    const { box } = this, button = (text, parent, click, options = {}) => {
      const made = element("button", text, parent, { type: "button", ...options });
      made.addEventListener("click", click);
      return made;
    };
    box.replaceChildren();
    const top = element("div", "", box, { className: "top" });
    const title = element("h2", "", top, { id: "reader-title" }), steps = element("div", "", top, { className: "steps" });
    const place = element("span", "", steps, { className: "soft" });
    const back = button("‹", steps, () => this.#step(-1), { ariaLabel: "Previous conversation of the list, key left", title: "Previous, key ←" });
    const next = button("›", steps, () => this.#step(1), { ariaLabel: "Next conversation of the list, key right", title: "Next, key →" });
    button("Close", steps, () => this.on.set({ open: null }), { id: "close", ariaLabel: "Close the conversation" });
    const about = element("p", "", box, { id: "reader-about", className: "soft" });
    const group = element("div", "", box, { id: "reader-group" });
    const tools = element("div", "", box, { className: "tools" });
    button("More like this", tools, () => this.#like());
    const unlike = button("Not like this", tools, () => this.#unlike());
    const copy = button("Copy link", tools, () => this.#copy());
    const source = element("span", "", tools);
    const more = element("details", "", tools, { className: "others" });
    element("summary", "…", more, { title: "Decisions and notes", ariaLabel: "Decisions and notes" });
    const own = element("div", "", more, { id: "reader-own" });
    const below = element("div", "", box);
    const facts = element("details", "", box, { id: "facts" });
    const summary = element("summary", "", facts);
    element("dl", "", facts, { id: "metadata" });
    const marks = element("div", "", box, { id: "marks" });
    element("div", "", box, { id: "turns" });
    element("h3", "Similar conversations", box, { id: "similar-title" });
    element("ol", "", box, { id: "similar" }).setAttribute("aria-labelledby", "similar-title");
    this.parts = { title, place, back, next, about, group, unlike, copy, source, more, own, below, facts, summary, marks };
    this.button = button;
  }

  // Where the conversation is, and the turns that speak for it.
  #group({ group, reasons, terms }) {
    const box = this.parts.group;
    box.replaceChildren();
    if (!group) return;
    const line = element("p", "", box, { className: "path" }), names = new Set();
    [group.area, group.topic, group.fine].forEach((part, level) => {
      if (!part || names.has(part.name)) return;
      if (names.size) line.append(" › ");
      names.add(part.name);
      const place = this.content.groups?.[level]?.findIndex(({ id }) => id === part.id) ?? -1;
      if (place < 0) line.append(part.name);
      else this.button(part.name, line, () => this.#topic([level, place]), { className: "link", title: `All conversations of “${part.name}”` });
    });
    const why = element("p", "", box, { className: "why" });
    if (!reasons.length) why.append("No turn has a word that marks this topic; the conversation as a whole is close to it. ");
    else {
      why.append("Why it is here: ", ...terms.flatMap((term, i) => [i ? ", " : "", element("em", term, null, { className: "term" })]), " in ");
      reasons.forEach((turn, i) => {
        if (i) why.append(i === reasons.length - 1 ? " and " : ", ");
        this.button(`turn ${turn + 1}`, why, () => this.#go(turn), { className: "link" });
      });
      why.append(". ");
    }
    if (group.moved) why.append(`It was moved here by hand on ${group.moved}.`);
    else if (group.closer >= TYPICAL) why.append("Typical of its topic.");
    else if (group.closer <= EDGE) why.append("At the edge of its topic.");
  }

  #metadata(facts) {
    const box = byId("metadata"), entries = Object.entries(facts);
    box.replaceChildren();
    for (const [key, value] of entries) {
      element("dt", key, box);
      const cell = element("dd", "", box);
      cell.append(isAddress(value) ? linkTo(value, String(value)) : String(value));
    }
    const source = entries.find(([, value]) => isAddress(value));
    this.parts.source.replaceChildren(...(source ? [linkTo(source[1], "Open the source")] : []));
    this.parts.facts.hidden = !entries.length;
    this.parts.summary.textContent = `Metadata (${entries.length})`;
  }

  // Turns, with what the search found in them. go: true to go to the turn of the link, or to the best one.
  #mark(go = true) {
    const { read, view } = this, [, turn] = view.state.open, at = view.hits?.rows.indexOf(this.row) ?? -1;
    const found = (at >= 0 && view.hits.turns?.[at]) || [];
    this.#place();
    this.parts.unlike.hidden = !view.state.query;
    this.#marks(found, read.segments);
    this.#turns(read, found, soughtIn(view.state.query, view.hits?.way));
    const first = turn >= 0 ? turn : found[0];
    if (first !== undefined) this.#current(first, go);
  }

  // Buttons that go to the turns that answer the search, and to the segments.
  #marks(found, segments) {
    const box = this.parts.marks, line = (text, targets) => {
      if (!targets.length) return;
      const list = element("p", `${text} `, box);
      for (const [name, turn] of targets) this.button(name, list, () => this.#go(turn), { className: "link" });
    };
    box.replaceChildren();
    line("Answers the search:", found.map((turn) => [`turn ${turn + 1}`, turn]));
    line("In this conversation:", segments.length > 1 ? segments.map(({ first, topic }) => [topic, first]) : []);
  }

  // The first speaker is on the left, all others are on the right; a name stands above the first of a speaker's turns.
  #turns({ record: { turns }, segments, reasons, terms }, found, words) {
    const box = byId("turns"), alone = new Set(turns.map(({ speaker }) => speaker)).size < 2;
    box.replaceChildren();
    const begins = new Map(segments.map((segment) => [segment.first, segment]));
    const topics = [...new Set(segments.map(({ topic }) => topic))];
    let line = 0, bar = null;
    turns.forEach((turn, number) => {
      const segment = begins.get(number), named = !alone && turn.speaker !== turns[number - 1]?.speaker;
      if (segment) {
        bar?.end(line);
        bar = this.#segment(box, segment, ++line, topics.indexOf(segment.topic) % HUES);
      }
      const made = this.#turn(turn, number, turn.speaker !== turns[0].speaker, found, named);
      made.style.gridRow = ++line;
      made.append(...marked(turn.text, found.includes(number) || words.whole ? words : NOTHING, reasons.includes(number) ? terms : []));
      box.append(made);
    });
    bar?.end(line);
  }

  #turn({ speaker }, number, other, found, named) {
    const made = element("div", "", null, { className: other ? "turn other" : "turn", id: `turn-${number}`, tabIndex: -1 });
    const place = found.indexOf(number);
    element("span", `${number + 1}`, made, { className: "number-of" }).setAttribute("aria-hidden", "true");
    if (place >= 0) {
      made.classList.add("hit");
      element("span", place ? "Answers the search" : "Answers the search best", made, { className: "answers" });
    }
    element("span", `Turn ${number + 1}, `, made, { className: "unseen" });
    element("span", `${speaker}: `, made, { className: named ? "speaker" : "unseen" });
    return made;
  }

  // The heading of a segment and its bar at the margin, which ends below its last line.
  #segment(box, { first, last, topic }, line, hue) {
    const range = first === last ? `Turn ${first + 1}` : `Turns ${first + 1} to ${last + 1}`;
    const head = element("h3", topic, box, { className: `segment hue-${hue}`, title: range });
    element("span", ` (${range})`, head, { className: "unseen" });
    head.style.gridRow = line;
    const bar = element("span", "", box, { className: `margin hue-${hue}` });
    bar.setAttribute("aria-hidden", "true");
    return { end: (lastLine) => { bar.style.gridRow = `${line} / ${lastLine + 1}`; } };
  }

  async #similar(similar) {
    const box = byId("similar"), rows = similar.map(([row]) => row);
    box.replaceChildren();
    byId("similar-title").hidden = !similar.length;
    const buttons = rows.map((row) => {
      const item = element("li", "", box), [id, details] = this.about(row);
      const button = this.button(id, item, () => this.on.set({ open: [id, -1] }), { className: "link" });
      element("small", [...details, id].join(" · "), item, { className: "soft" });
      return button;
    });
    const said = rows.length ? await this.source.speaking(rows).catch(() => []) : [];
    said.forEach(([, text], at) => { if (text) buttons[at].textContent = text; });
  }

  // The place in the list.
  #place() {
    const rows = this.view.rows ?? [], at = rows.indexOf(this.row), { place, back, next } = this.parts;
    place.textContent = at < 0 ? "" : `${(at + 1).toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
    back.disabled = at <= 0;
    next.disabled = at < 0 || at === rows.length - 1;
  }

  #step(by) {
    const rows = this.view.rows ?? [], at = rows.indexOf(this.row), row = rows[at + by];
    if (at >= 0 && row !== undefined) this.on.set({ open: [this.content.ids[row], -1] });
  }

  #key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, select, textarea")) return;
    event.preventDefault();
    this.#step(by);
  }

  // Go to a turn, and let the link hold it.
  #go(turn) {
    this.on.set({ open: [this.content.ids[this.row], turn] });
    this.#current(turn);
    byId(`turn-${turn}`)?.focus({ preventScroll: true });
  }

  // Mark a turn as the one that is read. go: true to bring it into sight.
  #current(turn, go = true) {
    this.box.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const target = byId(`turn-${turn}`);
    target?.setAttribute("aria-current", "true");
    if (go) target?.scrollIntoView({ block: "center" });
  }

  #topic(topic) {
    const narrow = matchMedia("(max-width: 52rem)").matches;
    this.on.set({ topic, panel: "topics", ...(narrow ? { open: null } : {}) });
  }

  #like() {
    const { query } = this.view.state, id = this.content.ids[this.row];
    const unlike = (query?.unlike ?? []).filter((other) => other !== id);
    this.on.set({ query: { text: "", way: "auto", like: id, unlike }, panel: "dialogues" });
  }

  #unlike() {
    const { query } = this.view.state, id = this.content.ids[this.row];
    this.on.set({ query: { ...query, like: query.like === id ? null : query.like, unlike: [...new Set([...query.unlike, id])] }, panel: "dialogues" });
  }

  async #copy() {
    const { copy } = this.parts;
    try {
      await navigator.clipboard.writeText(location.href);
      copy.textContent = "Link copied";
    } catch {
      copy.textContent = "The address bar has the link";
    }
    setTimeout(() => { copy.textContent = "Copy link"; }, 3000);
  }
}

// Nothing but an address of the web becomes a link: a `javascript:` of an export stays a text.
const isAddress = (value) => typeof value === "string" && /^https?:\/\/[^\s"\\]+$/i.test(value);

// A link that tells the other page nothing about this one.
function linkTo(address, text) {
  return element("a", text, null, { href: address, target: "_blank", rel: "noopener noreferrer", referrerPolicy: "no-referrer" });
}

const NOTHING = { parts: [], whole: false };
// Scripts without blanks between words.
const WITHOUT_BLANKS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

// What to mark of a query: a phrase wherever it stands, or its words in the turns that were found.
function soughtIn(query, way) {
  const { phrases, rest } = phrasesOf(query?.text ?? "");
  if (way === "exact") return { parts: rest ? [...phrases, rest] : phrases, whole: true };
  const words = rest.match(/[\p{L}\p{N}]+/gu) ?? [], long = words.filter((word) => word.length > 2);
  return { parts: [...phrases, ...(long.length ? long : words)], whole: false };
}

// A regular expression for any of these parts, or for nothing. within: true to find them inside of words, too.
function patternOf(parts, within) {
  const patterns = parts.filter((part) => part.trim()).sort((a, b) => b.length - a.length).map((part) => {
    const words = part.trim().split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    if (within) return words.join("\\s+");
    const joined = words.join("[^\\p{L}\\p{N}]+");
    return WITHOUT_BLANKS.test(part) ? joined : `(?<![\\p{L}\\p{N}])${joined}(?![\\p{L}\\p{N}])`;
  });
  return patterns.join("|") || "(?!)";
}

// A text as nodes; marked are the words of the search, and between them the terms of the group.
function marked(text, { parts, whole }, terms) {
  const own = new RegExp(`(${patternOf(terms, false)})`, "iu"), sought = new RegExp(`(${patternOf(parts, whole)})`, "giu");
  const split = (rest, pattern, mark, other) => rest.split(pattern).flatMap((part, i) => (i % 2 ? [mark(part)] : other(part)));
  const plain = (rest) => (rest ? [document.createTextNode(rest)] : []);
  const named = (rest) => split(rest, own, (part) => element("em", part, null, { className: "term" }), plain);
  return split(text, sought, (part) => element("mark", part), named);
}
