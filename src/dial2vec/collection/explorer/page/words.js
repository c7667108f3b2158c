// @ts-check
"use strict";
// Search by words without a server: BM25 over turns and over dialogues, and exact phrases.

// Lucene's variant of BM25 with its usual constants, as `dial2vec.collection.search.words` has it.
const K1 = 1.5, LENGTHS = 0.75;
const AT_THE_ENDS = /^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_]+$/gu, QUOTED = /["“”„]([^"“”„]*)["“”]/g;

// Thai, Lao, Burmese, Khmer, kana and Chinese characters, each a word, as in `dial2vec.data.words`.
const UNSPACED = "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff"
  + "\\u{20000}-\\u{3134f}";
const WORD = new RegExp(`[${UNSPACED}]|[^\\s${UNSPACED}]+`, "gu");

const clean = (text) => text.toLowerCase().split(/\s+/).join(" ").trim();

// The words of a text without case and without punctuation at their ends.
const wordsOf = (text) => (text.toLowerCase().match(WORD) ?? []).map((word) => word.replace(AT_THE_ENDS, "")).filter(Boolean);

// The phrases in quotes of a query, and the rest of the query, as `phrases_of` in texts.py.
function phrasesOf(text) {
  const phrases = Array.from(text.matchAll(QUOTED), ([, phrase]) => clean(phrase)).filter(Boolean);
  return { phrases, rest: text.replace(QUOTED, " ").split(/\s+/).join(" ").trim() };
}

class WordIndex {
  // turns: the texts of each dialogue's turns, [[text, ...], ...]
  constructor(turns) {
    this.starts = new Int32Array(turns.length + 1);
    turns.forEach((texts, row) => { this.starts[row + 1] = this.starts[row] + texts.length; });
    this.lengths = new Int32Array(this.starts[turns.length]);
    this.ids = new Map();
    this.#count(turns.flat());
  }

  // {ofTurns, ofDialogues, matches}: the scores of all turns and dialogues, 0 without a word of the query, and how many
  // of the different words of the query each turn has.
  scores(query) {
    const ids = [...new Set(wordsOf(query))].map((word) => this.ids.get(word)).filter((id) => id !== undefined);
    const ofTurns = new Float32Array(this.lengths.length), matches = new Uint16Array(ofTurns.length);
    const ofDialogues = new Float32Array(this.starts.length - 1);
    for (const id of ids) {
      const inTurns = this.#postings(id);
      for (const [turn] of inTurns) matches[turn] += 1;
      this.#add(ofTurns, inTurns, this.lengths);
      this.#add(ofDialogues, this.#byDialogue(inTurns), this.dialogueLengths);
    }
    return { ofTurns, ofDialogues, matches };
  }

  // Number the words, and put the turns of each word together; a turn that has a word twice is there twice.
  #count(texts) {
    const said = [], sizes = [];
    texts.forEach((text, turn) => {
      const words = wordsOf(text);
      this.lengths[turn] = words.length;
      for (const word of words) {
        let id = this.ids.get(word);
        if (id === undefined) this.ids.set(word, id = this.ids.size);
        sizes[id] = (sizes[id] ?? 0) + 1;
        said.push(id);
      }
    });
    this.begins = new Int32Array(sizes.length + 1);
    sizes.forEach((size, id) => { this.begins[id + 1] = this.begins[id] + size; });
    this.turns = new Int32Array(said.length);
    const next = this.begins.slice();
    for (let turn = 0, at = 0; turn < texts.length; turn++) {
      for (const end = at + this.lengths[turn]; at < end; at++) this.turns[next[said[at]]++] = turn;
    }
    this.dialogueLengths = new Int32Array(this.starts.length - 1);
    for (let row = 0; row < this.dialogueLengths.length; row++) {
      for (let turn = this.starts[row]; turn < this.starts[row + 1]; turn++) this.dialogueLengths[row] += this.lengths[turn];
    }
  }

  // [[turn, how often it has the word], ...], ascending
  #postings(id) {
    const found = [];
    for (let at = this.begins[id]; at < this.begins[id + 1]; at++) {
      if (found.at(-1)?.[0] === this.turns[at]) found.at(-1)[1] += 1;
      else found.push([this.turns[at], 1]);
    }
    return found;
  }

  #byDialogue(inTurns) {
    const found = [];
    let row = 0;
    for (const [turn, count] of inTurns) {
      while (turn >= this.starts[row + 1]) row += 1;
      if (found.at(-1)?.[0] === row) found.at(-1)[1] += count;
      else found.push([row, count]);
    }
    return found;
  }

  #add(scores, counts, lengths) {
    const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
    const rarity = Math.log(1 + (lengths.length - counts.length + 0.5) / (counts.length + 0.5));
    for (const [place, count] of counts) {
      scores[place] += (rarity * count) / (count + K1 * (1 - LENGTHS + (LENGTHS * lengths[place]) / mean));
    }
  }
}
