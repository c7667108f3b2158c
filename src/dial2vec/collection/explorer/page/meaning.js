// @ts-check
"use strict";
// Search by meaning without a server: the vectors of the dialogues, and the student's table of token vectors.

const PUNCTUATION = "\\p{P}!-/:-@\\[-`{-~";
const PART = new RegExp(`[${PUNCTUATION}]|[^${PUNCTUATION}\\p{White_Space}]+`, "gu");
const ASCII = /^[\x20-\x7e]*$/;
const IDEOGRAPH = /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/gu;

const SIMILAR = 10;

const dot = (a, b, at = 0) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[at + i];
  return sum;
};
const unit = (vector) => {
  const length = Math.sqrt(dot(vector, vector));
  return length ? vector.map((number) => number / length) : vector;
};

// The places of the k largest numbers that pass, largest first; ties by place.
function best(numbers, k, passes) {
  return Array.from(numbers.keys()).filter(passes).sort((a, b) => numbers[b] - numbers[a] || a - b).slice(0, k);
}

class Vectors {
  // numbers: whole numbers of the dialogues, row by row; steps: what each column is multiplied by
  constructor(numbers, steps) {
    this.dimension = steps.length;
    this.numbers = numbers.map((number, at) => number * steps[at % this.dimension]);
  }

  // Vector of a dialogue, about of length 1.
  of(row) {
    return this.numbers.slice(row * this.dimension, (row + 1) * this.dimension);
  }

  // [[row, cosine], ...] of the dialogues most similar to one
  similar(row) {
    const cosines = this.cosines(unit(this.of(row)));
    return best(cosines, SIMILAR, (other) => other !== row).map((other) => [other, cosines[other]]);
  }

  // Cosine of a vector of length 1 with each dialogue.
  cosines(query) {
    return Float32Array.from({ length: this.numbers.length / this.dimension }, (_, row) => dot(query, this.numbers, row * this.dimension));
  }
}

// A direction without what it shares with others, of length 1; null if nothing is left of it. As `contrast.without`.
function contrast(wanted, others) {
  const basis = [];
  const rest = (vector) => basis.reduce((left, one) => left.map((number, i) => number - dot(vector, one) * one[i]), vector);
  for (const other of others) {
    const left = rest(other);
    if (dot(left, left) > 1e-4) basis.push(unit(left));
  }
  const left = rest(wanted);
  return dot(left, left) < 0.05 ** 2 ? null : unit(left);
}

class Student {
  // table: the student of meaning.py; rows: the tokens' vectors, one after the other
  constructor({ tokens, normalizer, pieces, routing, far }, rows, dimension) {
    Object.assign(this, { normalizer, pieces, rows, dimension, choice: { ...routing, far } });
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    this.known = new Map();
  }

  // The ids of a text: BertNormalizer, BertPreTokenizer and WordPiece of the library tokenizers.
  tokenized(text) {
    return (this.#normalized(text).match(PART) ?? []).flatMap((part) => {
      // Most words occur again.
      if (!this.known.has(part)) this.known.set(part, this.#pieces(Array.from(part)));
      return this.known.get(part);
    });
  }

  #normalized(text) {
    const { clean_text, handle_chinese_chars, strip_accents, lowercase } = this.normalizer;
    if (ASCII.test(text)) return lowercase ? text.toLowerCase() : text;
    if (clean_text) text = text.replace(/[^\t\n\r\P{C}]|\uFFFD/gu, "").replace(/\p{White_Space}/gu, " ");
    if (handle_chinese_chars) text = text.replace(IDEOGRAPH, " $& ");
    if (strip_accents ?? lowercase) text = text.normalize("NFD").replace(/\p{Mn}/gu, "");
    // Letter by letter: of a whole word, JavaScript makes the last sigma another letter.
    return lowercase ? Array.from(text, (letter) => letter.toLowerCase()).join("") : text;
  }

  // The longest known piece first; a word with an unknown piece is the unknown token.
  #pieces(letters) {
    const { prefix, longest, unknown } = this.pieces, pieces = [];
    for (let begin = 0, end; begin < letters.length; begin = end) {
      const piece = () => this.ids.get((begin ? prefix : "") + letters.slice(begin, end).join(""));
      for (end = letters.length; end > begin && piece() === undefined; end--);
      if (end === begin || letters.length > longest) return [this.ids.get(unknown)];
      pieces.push(piece());
    }
    return pieces;
  }

  // Vector of a text that one speaker says, of length 1: the sum of its tokens' rows. Zeros if it has none.
  vector(text) {
    return unit(this.sum(this.tokenized(text)));
  }

  // Sum of the rows of these tokens.
  sum(ids) {
    const { dimension, rows } = this, sum = new Float32Array(dimension);
    for (const id of ids) for (let i = 0, at = id * dimension; i < dimension; i++) sum[i] += rows[at + i];
    return sum;
  }
}

const unpacked = async (text, columns) => matrixOf(await inflated(bytesOf(text), "deflate"), columns);

// The vectors that meaning.py packs.
async function vectorsOf({ dimension, steps, vectors }) {
  return new Vectors(await unpacked(vectors, dimension), steps);
}

// The student that meaning.py packs; null if there is none.
async function studentOf({ dimension, steps, student }) {
  if (!student) return null;
  const rows = await unpacked(student.rows, dimension), powers = await unpacked(student.factors, 1);
  const factors = powers.map((power) => student.step * 2 ** (power / 256));
  for (let id = 0, at = 0; id < factors.length; id++) {
    for (let i = 0; i < dimension; i++, at++) rows[at] *= factors[id] * steps[i];
  }
  return new Student(student, rows, dimension);
}
