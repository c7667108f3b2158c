"use strict";
// Search by meaning without a server: the student's table of token vectors, and the vectors of the dialogues.

const BY_MEANING = 100;
const PUNCTUATION = "\\p{P}!-/:-@\\[-`{-~";
const IDEOGRAPH = /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/gu;

class Student {
  // table: what `meaning.py` packs
  constructor(table) {
    Object.assign(this, table);
    this.ids = new Map(table.tokens.map((token, id) => [token, id]));
    const signed = (text) => new Int8Array(bytesOf(text).buffer);
    [this.rows, this.vectors] = [signed(table.rows), signed(table.vectors)];
    [this.factors, this.scales] = [floatsOf(table.factors), floatsOf(table.scales)];
  }

  // {rows, cosines} of the dialogues closest to a text, nearest first; none if no token of the text has a vector.
  nearest(text) {
    const query = this.#vector(text), { dimension, scales, vectors } = this;
    if (!query) return { rows: [], cosines: [] };
    const cosines = scales.map((scale, row) => {
      let sum = 0;
      for (let i = 0, at = row * dimension; i < dimension; i++) sum += query[i] * vectors[at + i];
      return sum * scale;
    });
    const rows = Array.from(cosines.keys()).sort((a, b) => cosines[b] - cosines[a]).slice(0, BY_MEANING);
    return { rows, cosines: rows.map((row) => cosines[row]) };
  }

  // The ids of a text: BertNormalizer, BertPreTokenizer and WordPiece of the library tokenizers.
  tokenized(text) {
    const words = this.#normalized(text).split(/\p{White_Space}+/u);
    const parts = words.flatMap((word) => word.match(new RegExp(`[${PUNCTUATION}]|[^${PUNCTUATION}]+`, "gu")) ?? []);
    return parts.flatMap((part) => this.#pieces(Array.from(part)));
  }

  #normalized(text) {
    const { clean_text, handle_chinese_chars, strip_accents, lowercase } = this.normalizer;
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

  // Unit vector of a text that one speaker says: the weighted sum of its tokens' rows.
  #vector(text) {
    const { dimension, rows, factors } = this, sum = new Float64Array(dimension);
    for (const id of this.tokenized(text)) {
      for (let i = 0; i < dimension; i++) sum[i] += factors[id] * rows[id * dimension + i];
    }
    const length = Math.hypot(...sum);
    return length ? sum.map((number) => number / length) : null;
  }
}
