"use strict";
// The page: what is looked at, and who is told when that changes.

const PAUSE = 300;
const many = (number) => `${number.toLocaleString("en")} dialogue${number === 1 ? "" : "s"}`;

class Explorer {
  constructor(source, content) {
    this.source = source;
    this.content = content;
    this.count = content.ids.length;
    this.details = content.details.map(({ names, codes }) => ({ names, codes: wholesOf(codes) }));
    this.maps = content.maps.map(({ points }) => floatsOf(points));
    // The rows that were searched for or selected, what is said of each, and of all; null stands for every row.
    this.found = this.notes = null;
    this.sentence = `${many(this.count)}.`;
    this.words = "";
    this.picked = -1;
    this.request = 0;
    const about = (row) => this.about(row), open = (row) => this.open(row), mark = (row) => this.pick(row);
    this.list = new List(byId("list"), source, about, { open, mark });
    this.reader = new Reader(byId("reader"), source, about, { open, close: () => this.closed() });
    this.tip = new Tip(byId("tip"), byId("stage"), source, about);
    this.points = this.#drawn();
    this.#listen();
    const colourings = content.colourings.map((one) => ({ ...one, codes: bytesOf(one.codes) }));
    const paint = ({ codes, colours, marks }) => this.points?.colour(codes, colours, marks);
    this.legend = new Legend(byId("legend"), byId("colour-by"), colourings, paint, () => this.refresh());
    this.legend.colour(colourings[0]);
  }

  // Its id, and what else there is to say in a word or two: labels, cluster, date.
  about(row) {
    const details = this.details.map(({ names, codes }) => names[codes[row]]);
    return [this.content.ids[row], [...details, this.content.dates[row]].filter(Boolean)];
  }

  // The rows that list and downloads are about.
  meant() {
    const rows = this.found ?? Array.from({ length: this.count }, (_, row) => row);
    return rows.filter((row) => this.legend.shows(row));
  }

  // Mean other rows from now on; null is all of them. notes: what is said of each, such as its cosine.
  mean(rows, sentence, { notes = null, words = "" } = {}) {
    Object.assign(this, { found: rows, sentence, notes, words });
    this.refresh();
  }

  // Bring list, map and counts to what is meant now.
  refresh() {
    const { found, notes } = this, shown = new Uint8Array(this.count).fill(found ? FAINT : SHOWN);
    for (const row of found ?? []) shown[row] = SHOWN;
    for (let row = 0; row < this.count; row++) if (!this.legend.shows(row)) shown[row] = HIDDEN;
    this.points?.show(shown);
    const rows = this.meant(), hidden = (found?.length ?? this.count) - rows.length;
    this.list.show(rows, notes && notes.filter((_, i) => this.legend.shows(found[i])));
    this.say(this.sentence + (hidden ? ` ${hidden.toLocaleString("en")} of them are hidden by the legend.` : ""));
    byId("clear").hidden = !found;
    byId("exports").hidden = !rows.length;
  }

  say(sentence) {
    byId("says").textContent = sentence;
  }

  // Mark a row on the map; -1 is none.
  pick(row) {
    this.picked = row;
    if (row >= 0) this.points?.follow(row, ...this.#uncovered());
    this.#placeRing();
  }

  async open(row) {
    this.pick(row);
    this.list.mark(row);
    this.tip.hide();
    try {
      await this.reader.open(row, this.words);
      if (this.picked === row) this.pick(row);
    } catch (error) {
      this.say(error.message);
    }
  }

  // The reader was; the map gets back the room that it took.
  closed() {
    this.pick(-1);
    this.points?.settle();
  }

  clear() {
    this.request++;
    byId("words").value = "";
    this.mean(null, `${many(this.count)}.`);
  }

  async search() {
    const words = byId("words").value.trim(), by = this.#by(), number = ++this.request;
    if (!words) return this.found && this.clear();
    if (by === "meaning") this.say("Searching by meaning; the first time loads the encoder …");
    try {
      const { rows, cosines } = await this.source.search(words, by);
      if (number !== this.request) return null;
      if (!cosines) return this.mean(rows, `${many(rows.length)} with “${words}”.`, { words });
      const notes = cosines.map((cosine) => cosine.toFixed(2));
      return this.mean(rows, `The ${many(rows.length)} closest in meaning to “${words}”.`, { notes });
    } catch (error) {
      return this.say(error.message);
    }
  }

  async download(form) {
    const rows = this.meant();
    try {
      const address = URL.createObjectURL(await this.source.export(rows, form));
      Object.assign(document.createElement("a"), { href: address, download: `dialogues.${form}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      this.say(`${many(rows.length)} downloaded as dialogues.${form}.`);
    } catch (error) {
      this.say(error.message);
    }
  }

  lasso(wanted) {
    this.gestures?.lasso(wanted);
    byId("lasso").setAttribute("aria-pressed", String(wanted));
  }

  // Go to the next dialogue to one side on the map.
  step(dx, dy) {
    if (!this.points) return;
    this.pick(this.points.next(this.picked, dx, dy));
    if (this.picked < 0) return;
    this.say(this.about(this.picked).flat().join(", "));
    this.list.mark(this.picked);
  }

  // Width and height of the map that the reader, to its right or on a telephone below, leaves to be seen.
  #uncovered() {
    const map = byId("canvas").getBoundingClientRect(), reader = byId("reader").getBoundingClientRect();
    if (byId("reader").hidden) return [map.width, map.height];
    if (reader.left > map.left) return [Math.min(reader.left - map.left, map.width), map.height];
    return [map.width, Math.min(Math.max(reader.top - map.top, 0), map.height)];
  }

  #by() {
    return new FormData(byId("search")).get("by");
  }

  #drawn() {
    try {
      return new Points(byId("canvas"), this.maps, () => this.#placeRing());
    } catch (error) {
      byId("canvas").hidden = true;
      byId("stage").prepend(element("p", error.message, null, { className: "soft" }));
      return null;
    }
  }

  #placeRing() {
    byId("ring").hidden = this.picked < 0 || !this.points;
    if (byId("ring").hidden) return;
    const [x, y] = this.points.onPage(this.picked);
    byId("ring").style.transform = `translate(${x}px, ${y}px)`;
  }

  #listen() {
    this.#listenToSearch();
    this.#listenToKeys();
    if (this.points) this.#listenToMap();
    byId("clear").addEventListener("click", () => this.clear());
    for (const button of document.querySelectorAll("#exports button")) {
      button.addEventListener("click", () => this.download(button.dataset.form));
    }
    byId("by").hidden = !this.source.searchesMeaning;
    const { dialogues } = this.content;
    byId("size").textContent = dialogues === this.count ? many(dialogues) : `${this.count.toLocaleString("en")} of ${many(dialogues)}`;
  }

  #listenToSearch() {
    let pause = 0;
    byId("search").addEventListener("submit", (event) => {
      event.preventDefault();
      clearTimeout(pause);
      this.search();
    });
    byId("words").addEventListener("input", () => {
      clearTimeout(pause);
      if (this.#by() === "words" || !byId("words").value) pause = setTimeout(() => this.search(), PAUSE);
    });
    for (const choice of document.getElementsByName("by")) choice.addEventListener("change", () => this.search());
  }

  #listenToKeys() {
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.target.matches("input[type=search], select")) {
        event.preventDefault();
        byId("words").focus();
      } else if (event.key === "Escape") {
        if (!byId("reader").hidden) this.reader.close();
        else if (this.found) this.clear();
        this.lasso(false);
      }
    });
  }

  #listenToMap() {
    const canvas = byId("canvas"), { points } = this;
    this.gestures = new Gestures(canvas, points, {
      hover: (row, x, y) => {
        canvas.classList.toggle("pointing", row >= 0);
        if (row < 0) this.tip.hide();
        else this.tip.show(row, x, y);
      },
      open: (row) => this.open(row),
      select: (rows) => { this.lasso(false); this.mean(rows, `${many(rows.length)} selected.`); },
      step: (dx, dy) => this.step(dx, dy),
      enter: () => { if (this.picked >= 0) this.open(this.picked); },
    });
    canvas.setAttribute("aria-label", `Map of ${many(this.count)}`);
    byId("lasso").addEventListener("click", () => this.lasso(!this.gestures.lassoing));
    byId("zoom-in").addEventListener("click", () => points.zoomBy(ZOOM_STEP));
    byId("zoom-out").addEventListener("click", () => points.zoomBy(1 / ZOOM_STEP));
    byId("zoom-all").addEventListener("click", () => points.showAll());
    const style = getComputedStyle(document.documentElement);
    const paint = () => points.paint(...["--page", "--ink"].map((name) => style.getPropertyValue(name).trim()));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    paint();
    this.#offerEncoders();
  }

  // Start against trained: the same dialogues on the map of the other encoder.
  #offerEncoders() {
    const box = byId("encoders");
    this.content.maps.forEach(({ title, encoder }, i) => {
      const label = element("label", "", box, { title: encoder });
      const choice = element("input", "", label, { type: "radio", name: "map", value: i, checked: i === 0 });
      choice.addEventListener("change", () => { this.tip.hide(); this.points?.moveTo(this.maps[i]); });
      label.append(` ${title}`);
    });
    box.hidden = this.maps.length < 2;
  }
}

const source = byId("content") ? new PageSource() : new ServerSource();
let explorer = null;
source.content().then((content) => { explorer = new Explorer(source, content); })
  .catch((error) => { byId("says").textContent = error.message; });
