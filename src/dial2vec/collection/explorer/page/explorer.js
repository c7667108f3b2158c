// @ts-check
"use strict";
// The page: one state, the dialogues that meet its conditions, and the parts that show them.

// Changes that decide which dialogues are shown, and those after which Back returns to the state before.
const CONDITIONS = ["topic", "query", "filters", "span"], STEPS_BACK = [...CONDITIONS, "panel", "open"];
// Time between two questions about what the server still makes.
const FOLLOW_MS = 2000;

const unquoted = (text) => text.replace(/["“”„]/g, "");

class Explorer {
  constructor(source, content) {
    Object.assign(this, { source, hits: null, selected: null, request: 0 });
    this.#take(content);
    this.state = stateOf(location.hash.slice(1), content.groups);
    this.#makeParts();
    this.#listen();
    this.map.restore(this.state.view);
    this.#filter();
    this.#follow();
  }

  // Change the state, and with it all that the page shows.
  set(change) {
    const changed = (keys) => keys.some((key) => key in change && change[key] !== this.state[key]);
    const [back, again] = [changed(STEPS_BACK), changed(CONDITIONS)];
    this.state = { ...this.state, ...change };
    this.#remember(back);
    if (again) this.#filter();
    else this.#update();
  }

  // The rows of a lasso, null for none.
  select(rows) {
    this.selected = rows;
    this.#filter();
  }

  clear() {
    this.selected = null;
    this.set({ query: null, topic: null, filters: {}, span: null });
  }

  // Load the content again, after a decision about the groups, or when the server shows other vectors.
  async reload() {
    const link = linkOf(this.state, this.content.groups);
    this.#take(await this.source.content());
    this.state = stateOf(link, this.content.groups);
    for (const part of this.parts) part.take?.(this.content);
    this.#filter();
  }

  // Say what the server still makes, and take over what it shows instead, until it has made all.
  async #follow() {
    for (let doing = " "; doing; await new Promise((done) => setTimeout(done, doing ? FOLLOW_MS : 0))) {
      const state = await this.source.state().catch(() => ({ doing: "", version: this.content.version }));
      ({ doing } = state);
      byId("later").textContent = doing && `Being made: ${doing} …`;
      if (state.version !== this.content.version) await this.reload().catch((error) => this.say(error.message));
    }
  }

  // The id of a dialogue, and its labels, group and date.
  about(row) {
    const details = this.content.details.map(({ names, codes }) => names[codes[row]]);
    return [this.content.ids[row], [...details, this.content.dates[row]].filter(Boolean)];
  }

  say(sentence) {
    byId("says").textContent = sentence;
  }

  async download(form) {
    const rows = Array.from(this.view.rows);
    try {
      const address = URL.createObjectURL(await this.source.export(rows, form));
      Object.assign(document.createElement("a"), { href: address, download: `dialogues.${form}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      this.say(`${many(rows.length)} downloaded as dialogues.${form}.`);
    } catch (error) {
      this.say(error.message);
    }
  }

  // Unpack the arrays of the content.
  #take(content) {
    const { ids, dates, details, maps, colourings, members, similarity } = content;
    this.content = {
      ...content,
      details: details.map(({ names, codes }) => ({ names, codes: integersOf(codes) })),
      maps: maps.map((map) => ({ ...map, places: floatsOf(map.points) })),
      colourings: colourings.map((way) => ({ ...way, codes: bytesOf(way.codes) })),
      members: (members ?? []).map((codes) => new Int16Array(bytesOf(codes).buffer)),
      similarity: similarity ? bytesOf(similarity) : null,
    };
    this.rowOf = new Map(ids.map((id, row) => [id, row]));
    this.selection = new RowSelection({ ...this.content, count: ids.length, dates });
  }

  #makeParts() {
    const { source, content } = this, about = (row) => this.about(row);
    const on = {
      set: (change) => this.set(change), select: (rows) => this.select(rows), clear: () => this.clear(),
      open: (row, turn = -1) => this.set({ open: [content.ids[row], turn] }), close: () => this.set({ open: null }),
      mark: (row) => this.list.mark(row), pick: (row) => this.map.pick(row), preview: (group) => this.map.preview(group),
      name: (group) => this.set({ topic: group, panel: "topics" }), say: (sentence) => this.say(sentence),
      reload: () => this.reload(), offer: (box, group) => this.curation.offer(box, group),
      retell: () => { this.overview.take(this.content); this.#update(); },
    };
    this.list = new List(byId("list"), source, about, { open: on.open, mark: on.pick });
    this.map = new MapView(source, content, about, on);
    this.curation = new Curation(content, on);
    this.overview = new Overview(byId("topics"), content, on);
    this.reader = new Reader(byId("reader"), source, content, this.curation, about, on);
    /** @type {any[]} */
    this.parts = [
      new Tabs(on), new Conditions(byId("conditions"), content, on), this.overview, this.map,
      new Changes(byId("changes"), content, on),
      new Legend(byId("legend"), byId("colour-by"), content, { ...on, colour: (way) => this.map.colour(way) }),
      new Filters(byId("filters"), content, on), this.curation, this.reader,
      new SearchBox(byId("search"), byId("way"), source, on),
    ];
  }

  // Ask the source for what the query finds, and show what meets all conditions.
  async #filter() {
    const number = ++this.request;
    try {
      const hits = this.state.query ? await this.#found() : null;
      if (number === this.request) this.hits = hits;
    } catch (error) {
      return number === this.request && this.say(error.message);
    }
    return number === this.request && this.#show();
  }

  async #found() {
    const { query, topic, filters, span } = this.state, row = (id) => this.rowOf.get(id);
    this.say(this.source.waiting);
    this.list.wait();
    this.selection.take({ topic, filters, span }, null, this.selected);
    const like = row(query.like) ?? null, unlike = query.unlike.map(row).filter((one) => one !== undefined);
    return this.source.search({ ...query, like, unlike }, this.selection.masks.size ? this.selection.passes() : null);
  }

  #show() {
    const { state, selection, selected, hits } = this, { groups } = this.content;
    selection.take(state, hits?.rows ?? null, selected);
    this.view = {
      state, hits, selected, mask: selection.passes(), rows: selection.rows(state, hits?.rows ?? null),
      passes: (name) => selection.passes(name), narrowed: selection.masks.size > 0,
      counts: groups ? selection.counts(groups.map((level) => level.length)) : [],
    };
    this.#list();
    this.#update();
    // A notebook, which gives the page as a text, takes the ids of the dialogues that are left.
    const left = this.view.narrowed ? Array.from(this.view.rows, (row) => this.content.ids[row]) : [];
    if (location.protocol === "about:") parent.postMessage({ selection: left }, "*");
  }

  // Tell every part.
  #update() {
    this.view = { ...this.view, state: this.state };
    for (const part of this.parts) part.update(this.view);
  }

  #list() {
    const { rows, hits, narrowed, state } = this.view, exact = hits?.way === "exact", text = state.query?.text;
    this.list.show(rows, hits, state.query, this.#waysOut());
    const close = hits?.close === false ? "Nothing is close to this. These are the nearest." : "", of = this.content.ids.length.toLocaleString("en");
    const number = rows.length.toLocaleString("en");
    // A search by meaning has no number of hits: its list ends somewhere.
    if (hits && !exact && rows.length) this.say(close || `The ${number} closest of ${of}.`);
    else if (text && !rows.length) this.say(`${exact ? "Nobody has said exactly" : "Nothing was found for"} “${unquoted(text)}”.`);
    else this.say(`${many(rows.length)}${narrowed ? ` of ${of}` : ""}.`);
    byId("exports").hidden = !rows.length;
  }

  // What to do if no conversation meets the conditions: [name, act].
  #waysOut() {
    const { query, filters, topic, span } = this.state, ways = [], set = (change) => () => this.set(change);
    const text = unquoted(query?.text ?? "");
    if (text && this.hits?.way === "exact") ways.push(["Search by meaning", set({ query: { ...query, text, way: "auto" } })]);
    for (const [title, { length }] of Object.entries(filters)) {
      const { [title]: names, ...rest } = filters;
      if (length) ways.push([`Remove filter: ${names.join(" or ")}`, set({ filters: rest })]);
    }
    if (topic) ways.push(["Search all topics", set({ topic: null })]);
    if (span) ways.push(["Search all dates", set({ span: null })]);
    return ways;
  }

  #remember(back) {
    const link = linkOf(this.state, this.content.groups);
    if (link === location.hash.slice(1)) return;
    // Not "#" alone, which in a notebook would be an address of the notebook.
    history[back ? "pushState" : "replaceState"](null, "", `${location.href.split("#")[0]}#${link}`);
  }

  #listen() {
    addEventListener("popstate", () => {
      this.state = stateOf(location.hash.slice(1), this.content.groups);
      this.map.restore(this.state.view);
      this.#filter();
    });
    for (const button of document.querySelectorAll("#exports button")) {
      button.addEventListener("click", () => this.download(button.dataset.form));
    }
    document.addEventListener("keydown", (event) => this.#key(event));
    const { dialogues, ids, dates } = this.content;
    const size = dialogues === ids.length ? many(dialogues) : `${ids.length.toLocaleString("en")} of ${many(dialogues)}`;
    byId("size").textContent = [size, spanOf(dates)].filter(Boolean).join(" · ");
  }

  #key(event) {
    if (event.key === "/" && !event.target.matches("input, select, textarea")) {
      event.preventDefault();
      byId("words").focus();
    } else if (event.key === "Escape" && !document.querySelector(":popover-open")) {
      this.map.lasso(false);
      if (this.state.open) this.set({ open: null });
      else if (this.view.narrowed) this.clear();
    }
  }
}

const source = byId("content") ? new PageSource() : new ServerSource();
let explorer = null;
source.content().then((content) => { explorer = new Explorer(source, content); })
  .catch((error) => { byId("says").textContent = error.message; });
