// @ts-check
"use strict";
// Decisions about topics and notes on dialogues, each with a way back; only a served page of a collection that can be
// written offers them.

const LONGEST_NOTE = 10_000;

class Curation {
  // content: {writable, groups}; on: {set(change), reload()}
  constructor(content, on) {
    Object.assign(this, { content, on, undoing: [], busy: false });
    this.bar = element("div", "", null, { id: "decided", hidden: true });
    this.says = element("p", "", this.bar);
    this.says.setAttribute("role", "status");
    this.back = button("Undo", this.bar, () => this.#undo());
    button("×", this.bar, () => { this.bar.hidden = true; }, { ariaLabel: "Close this message" });
    document.body.append(this.bar);
    const names = new Set(this.#proposed().map(({ topic }) => content.groups?.[1].find(({ id }) => id === topic)).filter(Boolean).map((group) => `“${nameOf(group)}”`));
    if (names.size) this.#tell(`An agent has proposed changes: see ⋯ at ${[...names].slice(0, 3).join(", ")}${names.size > 3 ? " and others" : ""}.`);
  }

  // What agents have proposed, about one topic or all.
  #proposed(topic) {
    const made = this.content.writable ? this.content.proposals ?? [] : [];
    return topic === undefined ? made : made.filter((proposal) => proposal.topic === topic);
  }

  take(content) {
    this.content = content;
  }

  update() {}

  // Add what can be decided about a group, [level, place], to the box with its details.
  offer(box, [level, place]) {
    const group = this.content.groups?.[level]?.[place];
    if (!this.content.writable || level !== 1 || !group) return;
    const buttons = element("div", "", box, { className: "tools" }), form = element("div", "", box);
    const others = this.#others(group.id, group.area), topic = group.id, name = `“${nameOf(group)}”`;
    const decide = (decision, doing) => this.#decide({ topic, ...decision }, doing, [buttons, form]);
    const measured = "stability is measured again, which takes some seconds …";
    button("Rename …", buttons, () => this.#ask(form, "New name", element("input", "", null, { value: nameOf(group), required: true, maxLength: 200, autocomplete: "off" }), "Rename",
      (to) => decide({ action: "rename", to }, `Renaming ${name} …`)));
    if (others.length) button("Merge …", buttons, () => {
      const choice = this.#choice(others), named = element("select", "", null);
      const both = () => [group, others.find(({ id }) => String(id) === choice.value)].sort((a, b) => b.size - a.size);
      const offer = () => named.replaceChildren(...both().map((one) => element("option", nameOf(one), null, { value: String(one.id) })));
      choice.addEventListener("change", offer);
      offer();
      this.#ask(form, `Topic that ${name} joins`, choice, "Merge", () => {
        const [kept, joined] = both().sort(({ id }) => (String(id) === named.value ? -1 : 1)).map(({ id }) => id);
        decide({ action: "merge", topic: kept, other: joined }, `Merging ${name}: ${measured}`);
      }, named);
    });
    if (group.fine?.length > 1) button("Split", buttons, () => decide({ action: "split" }, `Splitting ${name}: ${measured}`));
    button("Hide", buttons, () => decide({ action: "hide" }, `Hiding ${name} …`));
    for (const { number, words, reason } of this.#proposed(topic)) {
      this.bar.hidden = true;
      const asked = element("div", "", box, { className: "note" });
      element("p", `An agent proposes: ${words}. Its reason: “${reason}”`, asked);
      button("Accept", asked, () => this.#decide({ action: "accept", proposal: number }, `Working on it: ${words} …`, [asked]));
      // Dismissing can neither be taken back nor takes anything back.
      button("Dismiss", asked, () => this.#send({ action: "dismiss", proposal: number }, "Dismissing …", [asked], () => undefined));
    }
  }

  // Add buttons to keep a note on a dialogue and to move it, and below the note. read: as in reading.py.
  dialogue(buttons, below, dialogue, { group, note }) {
    const { writable, groups } = this.content, boxes = [buttons, below];
    if (note) this.#note(below, note);
    if (!writable) return;
    const form = element("div", "", below);
    button(note ? "Edit note …" : "Add a note …", buttons, () => this.#ask(form, "Note", element("textarea", "", null, { value: note?.text ?? "", rows: 3, maxLength: LONGEST_NOTE }), "Keep",
      (to) => this.#keep(dialogue, to, note?.text ?? "", boxes)));
    const own = groups?.[1].find(({ id }) => id === group?.topic.id), others = own ? this.#others(own.id, own.area) : [];
    if (others.length) button("Move …", buttons, () => this.#ask(form, "Topic that this dialogue joins", this.#choice(others), "Move",
      (id) => this.#decide({ action: "move", topic: Number(id), dialogue }, `Moving ${dialogue} …`, boxes)));
  }

  // The other topics, first those of the same area.
  #others(id, area) {
    const near = (group) => Number(group.area === area);
    return this.content.groups[1].filter((group) => group.id !== id).sort((a, b) => near(b) - near(a));
  }

  #note(box, { text, date }) {
    const made = element("figure", "", box, { className: "note" });
    element("blockquote", text, made);
    element("figcaption", `Note of ${date}`, made);
  }

  #keep(dialogue, to, before, boxes) {
    return this.#send({ action: "note", dialogue, to }, `Keeping the note on ${dialogue} …`, boxes, () => ({
      what: `note on ${dialogue}`, back: { action: "note", dialogue, to: before },
    }));
  }

  #decide(decision, doing, boxes) {
    return this.#send(decision, doing, boxes, ({ undo, made }) => ({ what: undo, back: { action: "undo", made } }));
  }

  // Send a decision, and show what was done. boxes: what cannot be used meanwhile; undoing(answer): how to take it back.
  async #send(decision, doing, boxes, undoing) {
    if (this.busy) return;
    this.busy = true;
    this.#tell(doing);
    const controls = boxes.flatMap((box) => [...box.querySelectorAll("button, input, select, textarea")]);
    for (const control of controls) control.disabled = true;
    try {
      const answer = await this.#post(decision), back = undoing(answer);
      if (back) this.undoing.push(back);
      else if (back === null) this.undoing.pop();
      await this.on.reload();
      this.#choose(decision);
      this.#tell(answer.message, true);
    } catch (error) {
      this.#tell(error.message);
      for (const control of controls) control.disabled = false;
    } finally {
      this.busy = false;
    }
  }

  // After a merge the joined topic is the chosen one.
  #choose({ action, topic }) {
    const place = action === "merge" ? this.content.groups[1].findIndex(({ id }) => id === topic) : -1;
    if (place >= 0) this.on.set({ topic: [1, place] });
  }

  #undo() {
    const last = this.undoing.at(-1);
    if (last) this.#send(last.back, `Taking back: ${last.what} …`, [this.bar], () => null);
  }

  // A sentence, with the way back after a decision; then the keyboard is there, because the form is gone.
  #tell(sentence, done = false) {
    const last = this.undoing.at(-1);
    this.bar.hidden = false;
    this.says.textContent = sentence;
    this.back.hidden = !done || !last;
    this.back.disabled = false;
    if (last) this.back.title = `Take back: ${last.what}`;
    if (done && !this.back.hidden) this.back.focus({ preventScroll: true });
  }

  async #post(decision) {
    let answer;
    try {
      const body = JSON.stringify(decision);
      answer = await fetch("curate", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    } catch {
      throw new Error("`dial2vec explore` has ended. Start it again and reload this page.");
    }
    const read = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(read.message ?? `\`dial2vec explore\` failed (status ${answer.status}).`);
    return read;
  }

  // A small form in place of the one before. control: field of the value; done(value) is called with it; named: choice of
  // the name of a merged topic.
  #ask(box, title, control, verb, done, named) {
    box.replaceChildren();
    const form = element("form", "", box, { className: "ask" });
    element("label", `${title} `, form).append(control);
    if (named) element("label", "Its name ", form).append(named);
    element("button", verb, form, { type: "submit" });
    button("Cancel", form, () => this.#dismiss(box));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      done(control.value);
    });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.#dismiss(box);
    });
    this.from = document.activeElement;
    control.focus();
  }

  #dismiss(box) {
    box.replaceChildren();
    this.from?.focus();
  }

  #choice(groups) {
    const made = element("select", "", null);
    for (const group of groups) element("option", `${nameOf(group)} (${group.size.toLocaleString("en")})`, made, { value: String(group.id) });
    return made;
  }
}
