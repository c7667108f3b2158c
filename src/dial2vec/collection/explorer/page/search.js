// @ts-check
"use strict";
// The search box, and the line that says by which way its hits were found and lets choose another.

const WAY_NAMES = { moments: "single turns", themes: "whole conversations", exact: "exact words" };

class SearchBox {
  // form: has the input; line: place for the way; source: has `ways`, those it can search by; on: {set(change)}
  constructor(form, line, source, on) {
    Object.assign(this, { form, line, source, on, query: null, text: "" });
    this.input = form.querySelector("input");
    this.input.addEventListener("focus", () => source.warm());
    form.addEventListener("submit", (event) => { event.preventDefault(); this.#ask(this.input.value.trim()); });
    // Also sent by the button in the input that empties it.
    this.input.addEventListener("search", () => { if (!this.input.value.trim()) this.#ask(""); });
    line.append("Found by ");
    this.choice = element("select", "", line);
    this.choice.setAttribute("aria-label", "Way to search");
    this.choice.addEventListener("change", () => on.set({ query: { ...this.query, way: this.choice.value } }));
  }

  update({ state, hits }) {
    this.query = state.query;
    const text = state.query?.text ?? "";
    // What is being typed stays if something else changes.
    if (text !== this.text) this.input.value = this.text = text;
    this.line.hidden = !text || !hits;
    if (this.line.hidden) return;
    const names = this.source.ways.map((way) => [way, WAY_NAMES[way]]);
    const suits = state.query.way === "auto" ? `${WAY_NAMES[hits.way]}, which suits` : "what suits";
    this.choice.replaceChildren(...[["auto", suits], ...names].map(([value, name]) => element("option", name, null, { value })));
    this.choice.value = state.query.way;
  }

  // A new text is searched by the way that suits; it takes the place of a conversation to be like.
  #ask(text) {
    this.text = this.input.value = text;
    const { query } = this;
    if (!text && query && !query.text) return;
    const unlike = query?.unlike ?? [];
    const way = text === query?.text ? query.way : "auto";
    this.on.set(text ? { query: { text, way, like: null, unlike }, panel: "dialogues" } : { query: null });
  }
}
