// @ts-check
// How values of a record are shown, and where they lead.
import { knownName } from '../components/field.js';
import { guessReference } from '../components/filter.js';
import { status } from '../components/parts.js';
import { html } from '../dom.js';
import { show } from '../format.js';
import { link } from '../router.js';

/** @typedef {import('./record.js').Model} Model */

/** Where the value of a field leads. @param {Field} f @param {unknown} value */
export function linkTo(f, value) {
  if (typeof value !== 'string' || !value) return '';
  const page =
    f.type === 'reference' &&
    f.key !== 'id' &&
    (f.reference || guessReference(f.key)).replace('sequence-', '');
  if (page)
    return [
      'accounts',
      'contacts',
      'campaigns',
      'templates',
      'audiences',
      'opportunities',
    ].includes(page)
      ? link(`/${page}/${value}`)
      : '';
  if (f.key === 'email') return `mailto:${value}`;
  if (f.key === 'phone_number') return `tel:${value.replace(/[^+\d]/g, '')}`;
  return /_url$|^website$/.test(f.key) && /^https?:/.test(value) ? value : '';
}

/** A value that is not being changed. @param {Field} f @param {unknown} value */
export function display(f, value) {
  const text = String(value || '');
  if (f.type === 'reference' && text) return knownName(text) || text;
  if (/_url$|^website$/.test(f.key) && /^https?:/.test(text))
    return text.replace(/^https?:\/\/(www\.)?/, '');
  if (f.key === 'email' && text) return text.split(/(?<=@)/).map((part) => html`<wbr />${part}`);
  if (f.key === 'status' || f.key === 'stage' || f.key === 'scoring.heat_score')
    return text && status(text);
  return show(f, value);
}

/** @param {Model} model @param {string} key */
export const isTime = (model, key) =>
  model.schema.fields.find((f) => f.key === key)?.type === 'datetime';

/** The texts or ids of a field that has several. @param {unknown} value */
export const textsOf = (value) => /** @type {string[]} */ (value || []);

/** Whether a field is a list of texts, which is written with commas. @param {string} key */
export const isTexts = (key) => /^other_(emails|phones|external_ids)$/.test(key);
