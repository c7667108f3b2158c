"use strict";
// The page: which dialogues are shown, and the parts that change with them.

const PAUSE = 300;
const many = (number) => `${number.toLocaleString("en")} dialogue${number === 1 ? "" : "s"}`;

class Explorer {
  constructor(source, content) {
    this.source = source;
    this.content = content;
    this.count = content.ids.length;
    this.details = content.details.map(({ names, codes }) => ({ names, codes: integersOf(codes) }));
    this.maps = content.maps.map(({ points }) => floatsOf(points));
    // Rows of a search or a selection (null for all rows), a note on each row, and a sentence on all.
    this.rows = this.notes = null;
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
    const colourings = content.colourings.map((way) => ({ ...way, codes: bytesOf(way.codes) }));
    const paint = ({ codes, colours, marks }) => this.points?.colour(codes, colours, marks);
    this.legend = new Legend(byId("legend"), byId("colour-by"), colourings, paint, () => this.refresh());
    this.legend.colour(colourings[0]);
  }

  // The id of a dialogue, and its labels, cluster and date.
  about(row) {
    const details = this.details.map(({ names, codes }) => names[codes[row]]);
    return [this.content.ids[row], [...details, this.content.dates[row]].filter(Boolean)];
  }

  // The rows of the list and of downloads.
  listed() {
    const rows = this.rows ?? Array.from({ length: this.count }, (_, row) => row);
    return rows.filter((row) => this.legend.shows(row));
  }

  // Show other rows; null for all. notes: a note on each row, such as its cosine.
  show(rows, sentence, { notes = null, words = "" } = {}) {
    Object.assign(this, { rows, sentence, notes, words });
    this.refresh();
  }

  // Update list, map and counts.
  refresh() {
    const { rows, notes } = this, shown = new Uint8Array(this.count).fill(rows ? FAINT : SHOWN);
    for (const row of rows ?? []) shown[row] = SHOWN;
    for (let row = 0; row < this.count; row++) if (!this.legend.shows(row)) shown[row] = HIDDEN;
    this.points?.show(shown);
    const listed = this.listed(), hidden = (rows?.length ?? this.count) - listed.length;
    this.list.show(listed, notes && notes.filter((_, i) => this.legend.shows(rows[i])));
    this.say(this.sentence + (hidden ? ` The legend hides ${hidden.toLocaleString("en")} of them.` : ""));
    byId("clear").hidden = !rows;
    byId("exports").hidden = !listed.length;
  }

  say(sentence) {
    byId("says").textContent = sentence;
  }

  // Mark a row on the map; -1 for none.
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

  // The reader is closed: the map gets its space back.
  closed() {
    this.pick(-1);
    this.points?.settle();
  }

  clear() {
    this.request++;
    byId("words").value = "";
    this.show(null, `${many(this.count)}.`);
  }

  async search() {
    const words = byId("words").value.trim(), by = this.#by(), number = ++this.request;
    if (!words) return this.rows && this.clear();
    if (by === "meaning") this.say("Searching by meaning; the first search loads the encoder …");
    try {
      const { rows, cosines } = await this.source.search(words, by);
      if (number !== this.request) return null;
      if (!cosines) return this.show(rows, `${many(rows.length)} with “${words}”.`, { words });
      const notes = cosines.map((cosine) => cosine.toFixed(2));
      return this.show(rows, `The ${many(rows.length)} closest in meaning to “${words}”.`, { notes });
    } catch (error) {
      return this.say(error.message);
    }
  }

  async download(form) {
    const rows = this.listed();
    try {
      const address = URL.createObjectURL(await this.source.export(rows, form));
      Object.assign(document.createElement("a"), { href: address, download: `dialogues.${form}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      this.say(`${many(rows.length)} downloaded as dialogues.${form}.`);
    } catch (error) {
      this.say(error.message);
    }
  }

  lasso(on) {
    this.gestures?.lasso(on);
    byId("lasso").setAttribute("aria-pressed", String(on));
  }

  // Go to the next dialogue on the map in a direction.
  step(dx, dy) {
    if (!this.points) return;
    this.pick(this.points.next(this.picked, dx, dy));
    if (this.picked < 0) return;
    this.say(this.about(this.picked).flat().join(", "));
    this.list.mark(this.picked);
  }

  // Width and height of the visible part of the map; the reader covers the right, or the bottom on a phone.
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
      const points = new Points(byId("canvas"), this.maps, () => { this.#placeRing(); this.names?.place(); });
      this.names = new MapNames(byId("names"), points, this.content.maps.map(({ names }) => names));
      return points;
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
        else if (this.rows) this.clear();
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
      select: (rows) => { this.lasso(false); this.show(rows, `${many(rows.length)} selected.`); },
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

  // Switch between the maps of the trained encoder and of the one to compare with.
  #offerEncoders() {
    const box = byId("encoders");
    this.content.maps.forEach(({ title, encoder }, i) => {
      const label = element("label", "", box, { title: encoder });
      const choice = element("input", "", label, { type: "radio", name: "map", value: i, checked: i === 0 });
      choice.addEventListener("change", () => { this.tip.hide(); this.points?.moveTo(this.maps[i]); this.names?.show(i); });
      label.append(` ${title}`);
    });
    box.hidden = this.maps.length < 2;
  }
}

const source = byId("content") ? new PageSource() : new ServerSource();
let explorer = null;
source.content().then((content) => { explorer = new Explorer(source, content); })
  .catch((error) => { byId("says").textContent = error.message; });
