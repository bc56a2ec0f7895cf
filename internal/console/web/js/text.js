// @ts-check
// All texts of the console go through here, as whole sentences. English is the source language: a
// catalogue of another language is a map from English sentences.

/** @type {Record<string, string | string[]>} */
const catalogue = {};
const plurals = new Intl.PluralRules('en');

/**
 * A text with `{name}` placeholders.
 * @param {string} sentence
 * @param {Record<string, unknown>} [values]
 * @returns {string}
 */
export function t(sentence, values = {}) {
  const found = catalogue[sentence];
  return fill(typeof found === 'string' ? found : sentence, values);
}

/**
 * A text that depends on a number, which is `{n}` in it.
 * @param {number} n
 * @param {string} one
 * @param {string} other
 * @param {Record<string, unknown>} [values]
 */
export function tn(n, one, other, values = {}) {
  return fill(plurals.select(n) === 'one' ? one : other, { n: number(n), ...values });
}

/** @param {string} sentence @param {Record<string, unknown>} values */
function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

const numbers = new Intl.NumberFormat('en');

/** @param {number} n */
export function number(n) {
  return numbers.format(n);
}
