// @ts-check
"use strict";
// Search in a page without a server: the same questions and answers as those of searching.py.

const HITS = 100, MARKED = 200, MARKED_TURNS = 3, LEAST = 0.5;

class PageSearch {
  // turns: the texts of each dialogue's turns, [[text, ...], ...]
  constructor(turns) {
    this.turns = turns;
    this.words = new WordIndex(turns);
  }

  // {rows, way, close, notes, turns}; the parameters are those of ServerSource.search.
  answer({ text, way }, within) {
    let { phrases, rest } = phrasesOf(text);
    if (way === "exact" && rest) [phrases, rest] = [[...phrases, clean(rest)], ""];
    const allowed = within ? Uint8Array.from(within) : new Uint8Array(this.turns.length).fill(1);
    if (phrases.length) this.#only(allowed, phrases);
    return rest ? this.#byWords(rest, allowed) : this.#exact(allowed, phrases);
  }

  // Leave only the dialogues that have each of the phrases in a turn.
  #only(allowed, phrases) {
    this.clean ??= this.turns.map((texts) => texts.map(clean));
    this.clean.forEach((texts, row) => {
      if (allowed[row] && !phrases.every((phrase) => texts.some((text) => text.includes(phrase)))) allowed[row] = 0;
    });
  }

  #exact(allowed, phrases) {
    const rows = Array.from(allowed.keys()).filter((row) => allowed[row]);
    const places = (texts) => texts.flatMap((text, turn) => (phrases.some((phrase) => text.includes(phrase)) ? [turn] : []));
    return { rows, way: "exact", close: true, notes: [], turns: rows.slice(0, MARKED).map((row) => places(this.clean[row])) };
  }

  #byWords(text, allowed) {
    const { ofTurns, ofDialogues } = this.words.scores(text), { starts } = this.words;
    const scores = this.#bestOf(ofTurns).map((score, row) => score + ofDialogues[row]);
    const rows = best(scores, HITS, (row) => Boolean(allowed[row]) && scores[row] > 0);
    const turns = rows.map((row) => speaking(ofTurns.subarray(starts[row], starts[row + 1])));
    return { rows, way: "moments", close: true, notes: rows.map(() => ""), turns };
  }

  // The largest of the numbers of each dialogue's turns.
  #bestOf(ofTurns) {
    const { starts } = this.words;
    return Float32Array.from(this.turns, (_, row) => ofTurns.subarray(starts[row], starts[row + 1]).reduce((a, b) => Math.max(a, b), -Infinity));
  }
}

// The places of the k largest numbers that pass, largest first; ties by place.
function best(numbers, k, passes) {
  return Array.from(numbers.keys()).filter(passes).sort((a, b) => numbers[b] - numbers[a] || a - b).slice(0, k);
}

// The turns that contribute most; those with less than half of the best are left out.
function speaking(contributions) {
  const order = best(contributions, MARKED_TURNS, (turn) => contributions[turn] > 0);
  return order.filter((turn) => contributions[turn] >= LEAST * contributions[order[0]]);
}
