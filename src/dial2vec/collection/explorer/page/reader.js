"use strict";
// A dialogue with its speakers side by side, and the most similar dialogues.

class Reader {
  // about(row) is [id, [detail, ...]]; on: {open(row), close()}
  constructor(box, source, about, on) {
    Object.assign(this, { box, source, about, on, row: -1 });
    byId("close").addEventListener("click", () => on.close());
  }

  // words: words of the search, to be marked.
  async open(row, words) {
    if (this.row < 0) this.from = document.activeElement;
    this.row = row;
    const { record, similar } = await this.source.dialogue(row);
    if (this.row !== row) return;
    const [id, details] = this.about(row);
    byId("reader-title").textContent = id;
    byId("reader-about").textContent = [...details, `${record.turns.length} turns`].join(" · ");
    this.#metadata(record.metadata ?? {});
    this.#turns(record.turns, words);
    this.#similar(similar);
    this.box.hidden = false;
    this.box.scrollTop = 0;
    this.box.focus({ preventScroll: true });
  }

  close() {
    if (this.row < 0) return;
    this.row = -1;
    this.box.hidden = true;
    this.from?.focus({ preventScroll: true });
  }

  #metadata(facts) {
    const box = byId("metadata");
    box.replaceChildren();
    for (const [key, value] of Object.entries(facts)) {
      element("dt", key, box);
      element("dd", String(value), box);
    }
  }

  // The first speaker is on the left, all others are on the right; with several others, each turn has a name.
  #turns(turns, words) {
    const box = byId("turns"), [first, ...others] = new Set(turns.map(({ speaker }) => speaker));
    box.replaceChildren();
    element("h3", first, box);
    element("h3", others.join(", "), box, { className: "other" });
    for (const { speaker, text } of turns) {
      const turn = element("div", "", box, { className: speaker === first ? "turn" : "turn other" });
      // Screen readers read no columns.
      element("span", `${speaker}: `, turn, { className: others.length > 1 && speaker !== first ? "speaker" : "unseen" });
      turn.append(...marked(text, words));
    }
  }

  #similar(similar) {
    const box = byId("similar");
    box.replaceChildren();
    for (const [row, cosine] of similar) {
      const item = element("li", "", box), [id, details] = this.about(row);
      element("button", id, item, { type: "button" }).addEventListener("click", () => this.on.open(row));
      element("span", ` ${[cosine.toFixed(2), ...details].join(" · ")}`, item, { className: "soft" });
    }
    byId("similar-title").hidden = !similar.length;
  }
}

// A text as nodes, with the words of the search marked.
function marked(text, words) {
  if (!words) return [document.createTextNode(text)];
  const sought = words.trim().split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
  return text.split(new RegExp(`(${sought})`, "giu")).map((part, i) =>
    i % 2 ? element("mark", part) : document.createTextNode(part));
}
