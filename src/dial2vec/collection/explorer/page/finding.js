// @ts-check
"use strict";
// Search in a page without a server: the same questions and answers as those of searching.py.

const HITS = 100, MARKED = 200, MARKED_TURNS = 3, LEAST = 0.5;

// The texts of all turns as the student reads them.
class ReadTurns {
  // starts: place of each dialogue's first turn, and the number of all turns
  constructor(texts, starts, student) {
    Object.assign(this, { starts, student });
    const ids = texts.map((text) => student.tokenized(text));
    this.begins = new Int32Array(texts.length + 1);
    ids.forEach((tokens, turn) => { this.begins[turn + 1] = this.begins[turn] + tokens.length; });
    this.tokens = new Uint32Array(this.begins[texts.length]);
    this.lengths = Float32Array.from(ids, (tokens, turn) => {
      this.tokens.set(tokens, this.begins[turn]);
      const sum = student.sum(tokens);
      return Math.sqrt(dot(sum, sum));
    });
  }

  // Product of a vector with each turn: a turn is the sum of its tokens, each of which is multiplied only once.
  products(vector) {
    const { rows, dimension } = this.student, { tokens, begins } = this;
    const ofTokens = Float32Array.from({ length: rows.length / dimension }, (_, id) => dot(vector, rows, id * dimension));
    return Float32Array.from(this.lengths, (_, turn) => {
      let sum = 0;
      for (let at = begins[turn]; at < begins[turn + 1]; at++) sum += ofTokens[tokens[at]];
      return sum;
    });
  }

  // Cosine of a vector of length 1 with each turn.
  cosines(vector) {
    return this.products(vector).map((product, turn) => product / (this.lengths[turn] || 1));
  }
}

class PageSearch {
  // turns: the texts of each dialogue's turns, [[text, ...], ...]; student: null if none made the vectors
  constructor(turns, vectors, student) {
    Object.assign(this, { turns, vectors, student, choice: student?.choice });
    this.words = new WordIndex(turns);
    if (!student) return;
    this.read = new ReadTurns(turns.flat(), this.words.starts, student);
    const [asked, said] = ["subjects", "sentences"].map((which) => mean(this.choice[which].map((text) => student.vector(text))));
    this.subjects = added(asked, said, -1);
    this.ofSubjects = spread(this.read.cosines(this.subjects));
  }

  // {rows, way, close, turns}; the parameters are those of ServerSource.search.
  answer({ text, way, like, unlike }, within) {
    let { phrases, rest } = phrasesOf(text);
    if (way === "exact" && rest) [phrases, rest] = [[...phrases, clean(rest)], ""];
    const allowed = within ? Uint8Array.from(within) : new Uint8Array(this.turns.length).fill(1);
    if (phrases.length) this.#only(allowed, phrases);
    for (const row of like === null ? unlike : [like, ...unlike]) allowed[row] = 0;
    if (rest && like !== null) throw new Error("Found a text and a dialogue to be like; expected one of them. Take one back.");
    if (rest && !unlike.length && (way !== "themes" || !this.student)) return this.#byTurns(rest, way, allowed);
    if (rest || like !== null) return this.#byDialogues(rest, like, unlike, allowed);
    if (phrases.length) return this.#exact(allowed, phrases);
    throw new Error("Found nothing to search for; expected words, or a dialogue that hits should be like.");
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
    return { rows, way: "exact", close: true, turns: rows.slice(0, MARKED).map((row) => places(this.clean[row])) };
  }

  #byDialogues(text, like, unlike, allowed) {
    const { vectors, student, choice } = this;
    if (text && !student) throw new Error("Found words and a dialogue not to be like, which this page cannot search for at once. Take one back.");
    const wanted = text ? student.vector(text) : unit(vectors.of(like));
    const direction = unlike.length ? contrast(wanted, unlike.map((row) => vectors.of(row))) : wanted;
    if (!direction) throw new Error("Found the same meaning in what hits should be like and not be like; expected two that differ. Take one back.");
    const cosines = vectors.cosines(direction), rows = best(cosines, HITS, (row) => allowed[row]);
    const close = !choice?.far || unlike.length > 0 || !rows.length || cosines[rows[0]] > choice.far.theme;
    const ofTurns = text ? this.read.cosines(wanted) : this.read?.products(wanted);
    return { rows, way: "themes", close, turns: this.#marked(ofTurns, rows) };
  }

  #byTurns(text, way, allowed) {
    const said = this.words.scores(text), passes = (row) => allowed[row];
    if (!this.student) {
      const scores = this.#bestOf(said.ofTurns).map((score, row) => score + said.ofDialogues[row]);
      const rows = best(scores, HITS, (row) => allowed[row] && scores[row] > 0);
      return { rows, way: "moments", close: true, turns: this.#marked(said.ofTurns, rows) };
    }
    const query = this.student.vector(text), themes = this.vectors.cosines(query), ofTurns = this.read.cosines(query);
    const nearest = this.#bestOf(ofTurns), { far } = this.choice;
    let scores = this.#scores(nearest, said);
    const [first] = best(nearest, 1, passes), [closest] = best(themes, 1, passes);
    if (first === undefined) return { rows: [], way: "moments", close: true, turns: [] };
    const weight = way === "auto" ? this.#weight(text, query, scores, themes, said, passes) : 0;
    if (weight) {
      const both = added(standard(themes), standard(said.ofDialogues), this.choice.theme_words);
      scores = added(scores, standard(both), weight);
    }
    const rows = best(scores, HITS, passes), byThemes = weight > 1;
    const close = !far || nearest[first] > far.turn || themes[closest] > far.theme;
    return { rows, way: byThemes ? "themes" : "moments", close, turns: this.#marked(ofTurns, rows) };
  }

  // Scores by single turns in standard deviations, as Moments.score.
  #scores(nearest, { ofTurns, ofDialogues }) {
    const { turn_words, dialogue_words } = this.choice;
    const words = added(standard(nearest), standard(this.#bestOf(ofTurns)), turn_words);
    const scores = added(words, standard(ofDialogues), dialogue_words), [, deviation] = spread(scores);
    return scores.map((score) => score / Math.max(deviation, 1e-6));
  }

  // Weight of the themes beside the turns' weight of 1, as routing.weight_of_themes.
  #weight(text, query, scores, themes, { matches }, passes) {
    const { choice } = this, words = wordsOf(text), n = new Set(words).size, top = best(scores, choice.rival, passes);
    const places = standard(themes), agreement = top.reduce((sum, row) => sum + places[row], 0) / top.length;
    const [middle, deviation] = this.ofSubjects, about = (dot(query, this.subjects) - middle) / Math.max(deviation, 1e-6);
    const complete = matches.reduce((count, match) => count + Number(match === n), 0);
    const logit = choice.level + choice.gap * (scores[top[0]] - scores[top[top.length - 1]])
      + choice.length * Math.log(Math.max(1, words.length)) + choice.about * about + choice.agreement * agreement
      + choice.shared * (matches.reduce((a, b) => Math.max(a, b), 0) / Math.max(n, 1))
      + choice.quoted * Number(n > 1 && complete > 0 && complete <= choice.few);
    const weight = Math.exp(Math.min(-logit, Math.log(choice.most)));
    return weight >= choice.least ? weight : 0;
  }

  // The largest of the numbers of each dialogue's turns.
  #bestOf(ofTurns) {
    const { starts } = this.words;
    return Float32Array.from(this.turns, (_, row) => {
      let largest = -Infinity;
      for (let turn = starts[row]; turn < starts[row + 1]; turn++) if (ofTurns[turn] > largest) largest = ofTurns[turn];
      return largest;
    });
  }

  #marked(ofTurns, rows) {
    const { starts } = this.words;
    return ofTurns ? rows.map((row) => speaking(ofTurns.subarray(starts[row], starts[row + 1]))) : [];
  }
}

// The turns that contribute most; those with less than half of the best are left out.
function speaking(contributions) {
  const order = best(contributions, MARKED_TURNS, (turn) => contributions[turn] > 0);
  return order.filter((turn) => contributions[turn] >= LEAST * contributions[order[0]]);
}

const added = (numbers, others, weight) => numbers.map((number, at) => number + weight * others[at]);
const mean = (vectors) => vectors[0].map((_, i) => vectors.reduce((sum, vector) => sum + vector[i], 0) / vectors.length);

// Mean and standard deviation.
function spread(numbers) {
  const middle = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  return [middle, Math.sqrt(numbers.reduce((sum, number) => sum + (number - middle) ** 2, 0) / numbers.length)];
}

// Numbers in standard deviations from their mean.
function standard(numbers) {
  const [middle, deviation] = spread(numbers);
  return numbers.map((number) => (number - middle) / Math.max(deviation, 1e-6));
}
