// @ts-check
"use strict";
// Which dialogues meet the conditions of the state, and in which order they are listed.

class RowSelection {
  // content: what the server or the page gives; its arrays unpacked
  constructor({ count, dates, members, similarity, colourings }) {
    Object.assign(this, { count, dates, members, similarity, colourings });
    this.known = new Map();
    this.masks = new Map();
    this.failed = new Uint8Array(count);
  }

  // Take over a state. hits: rows that the query found, best first, or null; selected: rows of the lasso, or null.
  take(state, hits, selected) {
    const masks = new Map();
    const add = (name, key, make) => {
      const old = this.known.get(name);
      masks.set(name, old && old.key === key ? old.mask : make());
      this.known.set(name, { key, mask: masks.get(name) });
    };
    if (state.topic) add("topic", String(state.topic), () => this.#inGroup(...state.topic));
    if (state.span) add("span", String(state.span), () => this.#inSpan(...state.span));
    for (const [title, names] of Object.entries(state.filters)) {
      const colouring = this.colourings.find((one) => one.title === title);
      if (colouring && names.length) add(`key ${title}`, names.join("\n"), () => this.#withValue(colouring, names));
    }
    if (hits) add("query", hits, () => this.#only(hits));
    if (selected) add("lasso", selected, () => this.#only(selected));
    this.masks = masks;
    this.failed = new Uint8Array(this.count);
    for (const mask of masks.values()) for (let row = 0; row < this.count; row++) this.failed[row] += 1 - mask[row];
  }

  // 1 for each row that meets all conditions, or all but one of a name: "topic", "span", "query", "lasso", "key <title>".
  passes(but = "") {
    const free = this.masks.get(but), passes = new Uint8Array(this.count);
    for (let row = 0; row < this.count; row++) {
      passes[row] = Number(this.failed[row] - (free ? 1 - free[row] : 0) === 0);
    }
    return passes;
  }

  // Number of rows of each group that meet all conditions but that on the topic, one Int32Array per level.
  counts(sizes) {
    const passes = this.passes("topic");
    return this.members.map((groups, level) => {
      const counts = new Int32Array(sizes[level]);
      for (let row = 0; row < this.count; row++) if (passes[row] && groups[row] >= 0) counts[groups[row]]++;
      return counts;
    });
  }

  // The rows that meet all conditions: as the query found them, or the most typical of a topic first.
  rows(state, hits) {
    const passes = this.passes();
    if (hits) return Int32Array.from(hits.filter((row) => passes[row]));
    const rows = Int32Array.from({ length: this.count }, (_, row) => row).filter((row) => passes[row]);
    const { similarity } = this;
    return state.topic && similarity ? rows.sort((a, b) => similarity[b] - similarity[a] || a - b) : rows;
  }

  #inGroup(level, place) {
    return Uint8Array.from(this.members[level], (group) => Number(group === place));
  }

  // Dates compare as texts; a dialogue without a date is in no span.
  #inSpan(from, to) {
    return Uint8Array.from(this.dates, (date) => Number(date >= from && date <= to && date !== ""));
  }

  #withValue({ names, codes }, wanted) {
    const chosen = names.map((name) => Number(wanted.includes(name)));
    return Uint8Array.from(codes, (code) => chosen[code]);
  }

  #only(rows) {
    const mask = new Uint8Array(this.count);
    for (const row of rows) mask[row] = 1;
    return mask;
  }
}
