// @ts-check
"use strict";
// Sources of dialogues: a server on this machine, or the page itself. Both have the same methods.

// Bits of a mask, the first in the highest bit of the first byte, as base64.
const packedBits = (mask) => {
  const bytes = new Uint8Array(Math.ceil(mask.length / 8));
  for (let i = 0; i < mask.length; i++) if (mask[i]) bytes[i >> 3] |= 128 >> (i & 7);
  let letters = "";
  for (let i = 0; i < bytes.length; i += 8192) letters += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(letters);
};

class ServerSource {
  ways = ["moments", "themes", "exact"];
  #answered = false;
  #warming;

  // What to say during a search.
  get waiting() {
    return this.#answered ? "Searching …" : "Loading the encoder (once, some seconds) …";
  }

  // Load the encoder before it is asked: any question does.
  async warm() {
    if (this.#answered) return;
    this.#warming ??= this.search({ text: "hello", way: "moments", like: null, unlike: [] }, null).catch(() => {});
    await this.#warming;
  }

  async content() {
    return (await this.#ask("content")).json();
  }

  // {doing, version}: what the server still makes, "" for nothing, and the version of the content that it has
  async state() {
    return (await this.#ask("state")).json();
  }

  // {record, similar: [[row, cosine], ...]}, and what `ReaderContent.of` in reading.py says
  async dialogue(row) {
    return (await this.#ask(`dialogue/${row}`)).json();
  }

  // {rows, way, close, turns}, the best first. query: {text, way, like, unlike}, the last two rows; within: mask
  // of the rows that may be hits, null for all.
  async search(query, within) {
    const answer = await (await this.#ask("search", { ...query, within: within && packedBits(within) })).json();
    this.#answered ||= answer.way !== "exact";
    return answer;
  }

  // [[speaker, text], ...]: of each dialogue the turn that speaks most for its topic
  async speaking(rows) {
    return (await this.#ask("speaking", rows)).json();
  }

  // [[speaker, text], ...] of turns, each given as [row, number]
  async turns(pairs) {
    return (await this.#ask("turns", pairs)).json();
  }

  async export(rows, form) {
    return (await this.#ask(`export/${form}`, rows)).blob();
  }

  async #ask(address, body) {
    const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let answer;
    try {
      answer = await fetch(address, options);
    } catch {
      throw new Error("`dial2vec explore` has ended. Start it again and reload this page.");
    }
    if (answer.ok) return answer;
    const { message } = await answer.json().catch(() => ({}));
    throw new Error(message ?? `\`dial2vec explore\` failed (status ${answer.status}).`);
  }
}

class PageSource {
  #records;
  #reading;
  #meaning;
  #vectors;
  #search;

  // Without a student the page can read only words.
  get ways() {
    return this.#meaning.student ? ["moments", "themes", "exact"] : ["moments", "exact"];
  }

  // What to say during a search.
  get waiting() {
    return this.#search ? "Searching …" : "Reading all conversations (once, some seconds) …";
  }

  async warm() {
    this.#search ??= this.#opened();
  }

  async content() {
    const bytes = denseBytes(document.getElementById("content").textContent.trim());
    const { records, reading, meaning, ...content } = JSON.parse(new TextDecoder().decode(await inflated(bytes, "gzip")));
    this.#records = recordsOf(records);
    this.#reading = valuesOf(reading);
    this.#meaning = meaning;
    return content;
  }

  // All is made.
  async state() {
    return { doing: "", version: undefined };
  }

  async dialogue(row) {
    return { record: this.#records[row], similar: (await this.#unpacked()).similar(row), ...this.#reading[row] };
  }

  // The same as ServerSource.search.
  async search(query, within) {
    this.#search ??= this.#opened();
    return (await this.#search).answer(query, within);
  }

  async turns(pairs) {
    return pairs.map(([row, number]) => {
      const { speaker, text } = this.#records[row].turns[number];
      return [speaker, text];
    });
  }

  async speaking(rows) {
    return this.turns(rows.map((row) => [row, this.#reading[row].reasons[0] ?? 0]));
  }

  async export(rows, form) {
    const records = rows.map((row) => this.#records[row]);
    const lines = form === "csv" ? this.#table(records) : records.map((record) => JSON.stringify(record) + "\n");
    return new Blob(lines);
  }

  // Made at first use, so that the page opens soon.
  #unpacked() {
    this.#vectors ??= vectorsOf(this.#meaning);
    return this.#vectors;
  }

  async #opened() {
    // The page says that it searches before it is busy.
    await new Promise((done) => setTimeout(done, 30));
    const turns = this.#records.map(({ turns }) => turns.map(({ text }) => text));
    return new PageSearch(turns, await this.#unpacked(), await studentOf(this.#meaning));
  }

  // The same rows as `comma_separated` in export.py.
  #table(records) {
    const plain = (value) => (/^[=+\-@\t\r]/.test(value) ? `'${value}` : value);
    const quoted = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const cell = (value) => quoted(plain(value));
    const line = (cells) => `${cells.map(cell).join(",")}\r\n`;
    return [line(["dialogue_id", "date", "labels", "speaker", "text"])].concat(records.flatMap((record) =>
      record.turns.map(({ speaker, text }) => line(
        [record.dialogue_id, record.date ?? "", record.labels.join("; "), speaker, text],
      ))));
  }
}
