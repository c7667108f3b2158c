// @ts-check
"use strict";
// What packing.py makes small: bytes in the text of the page, dialogues in columns, and numbers.

const bytesOf = (text) => {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
};
const floatsOf = (text) => new Float32Array(bytesOf(text).buffer);
const integersOf = (text) => new Int32Array(bytesOf(text).buffer);

// The digits of base 85 in their order, without those that have a meaning in HTML.
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;,=:?@^_`{|}~";

// The bytes of a text in base 85.
function denseBytes(text) {
  const digits = new Uint8Array(128), groups = Math.ceil(text.length / 5), bytes = new DataView(new ArrayBuffer(4 * groups));
  for (let i = 0; i < 85; i++) digits[DIGITS.charCodeAt(i)] = i;
  for (let group = 0; group < groups; group++) {
    let number = 0;
    // A last group that is short is filled with the largest digit.
    for (let at = 5 * group; at < 5 * group + 5; at++) number = number * 85 + (at < text.length ? digits[text.charCodeAt(at)] : 84);
    bytes.setUint32(4 * group, number);
  }
  return new Uint8Array(bytes.buffer, 0, text.length - groups);
}

// form: "gzip" or "deflate"
async function inflated(bytes, form) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(form))).arrayBuffer());
}

// The values of a column of packing.py.
function valuesOf({ values, codes, keys, columns }) {
  if (!keys) return codes ? codes.map((code) => (code < 0 ? null : values[code])) : values;
  const parts = new Map(Object.entries(columns).map(([key, column]) => [key, valuesOf(column)]));
  return valuesOf(keys).map((own, row) => own && Object.fromEntries(own.map((key) => [key, parts.get(key)[row]])));
}

// Records as Dialogue.to_record makes them.
function recordsOf({ texts, records }) {
  let next = 0;
  return valuesOf(records).map((record) => ({ ...record, turns: record.turns.map((speaker) => ({ speaker, text: texts[next++] })) }));
}

// Numbers [count, dimension], row by row, of their bytes: those of packed_numbers, inflated.
function matrixOf(bytes, dimension) {
  const size = bytes.length / 2, count = size / dimension, numbers = new Float32Array(size);
  for (let column = 0, at = 0; column < dimension; column++) {
    for (let row = 0; row < count; row++, at++) {
      const unsigned = bytes[at] + 256 * bytes[size + at];
      numbers[row * dimension + column] = unsigned & 1 ? -(unsigned + 1) / 2 : unsigned / 2;
    }
  }
  return numbers;
}
