// @ts-check
"use strict";
// The line of active conditions; each can be taken back.

class Conditions {
  // on: {set(change), select(rows), clear()}; content: names of the groups
  constructor(box, content, on) {
    Object.assign(this, { box, content, on, key: "" });
  }

  // Take over other content.
  take(content) {
    this.content = content;
    this.key = "";
  }

  update({ state, selected }) {
    // Made again only after a change of theirs: the button that has the focus stays.
    const { query, topic, filters, span } = state, key = JSON.stringify([query, topic, filters, span, selected?.length]);
    if (key === this.key) return;
    this.key = key;
    const chips = [...this.#ofQuery(state.query), ...this.#ofGroups(state), ...this.#ofFilters(state.filters)];
    if (selected) chips.push([`${selected.length.toLocaleString("en")} selected on the map`, () => this.on.select(null)]);
    this.box.replaceChildren(...chips.map(([text, undo]) => this.#chip(text, undo)));
    if (chips.length > 1) button("Clear all", this.box, () => this.on.clear(), { className: "clear" });
    this.box.hidden = !chips.length;
  }

  #ofQuery(query) {
    if (!query) return [];
    const { text, like, unlike } = query, chips = [];
    const without = (change) => {
      const rest = { ...query, ...change };
      this.on.set({ query: rest.text || rest.like !== null ? rest : null });
    };
    if (text) chips.push([`“${text}”`, () => without({ text: "" })]);
    if (like !== null) chips.push([`like ${like}`, () => without({ like: null })]);
    for (const id of unlike) chips.push([`not like ${id}`, () => without({ unlike: unlike.filter((one) => one !== id) })]);
    return chips;
  }

  #ofGroups({ topic, span }) {
    const chips = [];
    if (topic) {
      const [level, place] = topic;
      chips.push([`${["Area", "Topic", "Part"][level]}: ${nameOf(this.content.groups[level][place])}`, () => this.on.set({ topic: null })]);
    }
    if (span) chips.push([span[0] === span[1] ? span[0] : `${span[0]} to ${span[1]}`, () => this.on.set({ span: null })]);
    return chips;
  }

  #ofFilters(filters) {
    return Object.entries(filters).filter(([, names]) => names.length).map(([title, names]) => {
      const { [title]: _, ...rest } = filters;
      return [`${title}: ${names.join(" or ")}`, () => this.on.set({ filters: rest })];
    });
  }

  #chip(text, undo) {
    const chip = button("", null, undo, { className: "chip", ariaLabel: `Remove the condition ${text}` });
    element("span", text, chip);
    element("span", "×", chip, { ariaHidden: "true" });
    return chip;
  }
}

// The name of a group: that of a language model, if it has one.
const nameOf = ({ name, described }) => described || name;
