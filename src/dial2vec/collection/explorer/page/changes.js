// @ts-check
"use strict";
// The band below the header: what changed clearly in the latest dialogues, or in another period that is ready.

const KINDS = { new: "New", more: "More", less: "Less", gone: "Gone" };

class Changes {
  // content: groups and news; on: {name(group), preview(group), retell()}
  constructor(box, content, on) {
    Object.assign(this, { box, on });
    this.take(content);
  }

  // Show other news, after a decision about the groups.
  take(content) {
    const { spans, sentences } = content.news;
    Object.assign(this, { content, cards: [] });
    this.box.hidden = !spans.length && !sentences.length;
    this.#show(0);
  }

  update({ state }) {
    for (const [topic, name] of this.cards) name.setAttribute("aria-pressed", String(String(state.topic) === String([TOPIC, topic])));
  }

  #show(place) {
    const { spans, sentences } = this.content.news, span = spans[place] ?? { cards: [], more: [], rest: "" };
    this.cards = [];
    this.box.replaceChildren();
    this.box.classList.remove("all");
    this.#title(spans, place);
    const list = element("ul", "", this.box), rest = element("div", "", this.box, { className: "others" });
    for (const card of span.cards) this.#card(card, span, element("li", "", list));
    for (const card of span.more) this.#card(card, span, element("li", "", list, { className: "later" }));
    list.hidden = !list.childElementCount;
    for (const [at, text] of [span.rest, ...sentences].filter(Boolean).entries()) element("p", text, rest, { className: at > 1 ? "later" : "" });
    if (!this.box.querySelector(".later")) return;
    const all = button("All changes", rest, () => all.setAttribute("aria-expanded", String(this.box.classList.toggle("all"))));
    all.setAttribute("aria-expanded", "false");
  }

  // The table tells the same period.
  #choose(place) {
    const { groups, news } = this.content, { changes, since, first_late } = news.spans[place];
    Object.assign(news, { since, first_late });
    changes.forEach((own, level) => own.forEach((change, at) => Object.assign(groups[level][at], { change })));
    this.#show(place);
    this.on.retell();
  }

  #title(spans, place) {
    const title = element("div", "", this.box, { className: "period" });
    element("h2", "What changed", title);
    if (!spans.length) return;
    const line = element("p", "", title), choice = spans.length > 1 && element("select", "", line, { ariaLabel: "Period" });
    for (const { title: name } of spans) if (choice) element("option", name, choice);
    if (choice) Object.assign(choice, { selectedIndex: place, onchange: () => this.#choose(choice.selectedIndex) });
    else element("strong", spans[0].title, line);
    element("span", " compared with everything before. Clear changes only.", line);
  }

  #card({ kind, topic, shares: [before, after], says }, { first_late }, item) {
    const { groups, news: { totals } } = this.content, group = [TOPIC, topic], own = groups[TOPIC][topic];
    element("b", KINDS[kind], item, { className: ["new", "more"].includes(kind) ? "rises" : "falls" });
    const name = button(nameOf(own), item, () => this.on.name(group));
    if (own.trend.length > 1) item.append(trendOf(own.trend, { totals, first_late }));
    const line = element("p", `${before} → `, item, { className: "shares" });
    element("strong", after, line);
    element("p", says || "Nothing else stands out", item, { className: "says" });
    for (const event of ["pointerenter", "focusin"]) item.addEventListener(event, () => this.on.preview(group));
    for (const event of ["pointerleave", "focusout"]) item.addEventListener(event, () => this.on.preview(null));
    this.cards.push([topic, name]);
  }
}
