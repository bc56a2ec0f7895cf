// @ts-check
// The columns of a list, which fit the fields of the records, and their cells.
import { knownName, nameOf } from '../components/field.js';
import { marketText } from '../components/filter.js';
import { status } from '../components/parts.js';
import { html } from '../dom.js';
import { ago, because, show, words } from '../format.js';
import { number, why } from '../text.js';
import { valueAt } from './entities.js';

/** @typedef {import('./list_model.js').ListModel} ListModel */

/**
 * The column of a field, if the records have it.
 * @param {ListModel} model
 * @param {string} key
 * @param {number} [width]
 * @returns {Column | null}
 */
export function columnOf(model, key, width) {
  const { schema, kind } = model;
  const f = schema.fields.find((other) => other.key === key);
  const hasName = schema.fields.some((other) => other.key === 'name');
  if (!hasName && (key === 'name' || key === 'last_name'))
    return { key: 'last_name', label: 'Name', width: width || 200, sortable: true, view: nameOf };
  if (kind.entity === 'previews' && (key === 'market' || !f))
    return previewColumn(key, model.companies);
  if (!f) return null;
  return {
    key,
    label: f.key === 'contact_count' ? 'Contacts' : labelOf(f),
    sortable: f.sortable,
    number: isCount(f),
    width: width || widthOf(kind, f),
    view: (record) =>
      key === 'status' && record.held
        ? heldStatus(/** @type {API['Hold']} */ (record.held))
        : [
            cellOf(model, f, valueAt(record, key)),
            key === 'status' && record.dry_run && ', dry run',
          ],
  };
}

/**
 * A column of the list of Previews: the market, or how many companies or people there are.
 * @param {string} key
 * @param {Field[]} companies the fields of companies
 * @returns {Column}
 */
function previewColumn(key, companies) {
  const of = (/** @type {unknown} */ record) => /** @type {API['Preview']} */ (record);
  if (key === 'market')
    return { key, label: 'Market', width: 420, view: (p) => marketText(of(p), companies) };
  const what = key === 'people' ? 'people' : 'companies';
  return {
    key,
    label: words(what),
    number: true,
    width: 120,
    view: (p) => {
      const { totals } = of(p);
      return totals ? number(totals[what].eligible) : '';
    },
  };
}

/** Whether a field is a number, or is shown as one. @param {Field} f */
const isCount = (f) => f.type === 'number' || f.key === 'steps';

/** How wide the column of a field is. @param {Entity} kind @param {Field} f */
function widthOf(kind, f) {
  if (f.key === 'title' && kind.columns[0] === f.key) return 350;
  if (widths[f.key]) return widths[f.key];
  if (isCount(f)) return Math.max(110, 9 * f.label.length + 16);
  return /^(updated|created)_at$/.test(f.key) && kind.entity !== 'previews' ? 100 : 150;
}

/** A value in a cell. @param {ListModel} model @param {Field} f @param {unknown} value */
export function cellOf(model, f, value) {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return cellOfMany(model, f, value);
  const text = String(value);
  switch (f.key) {
    case 'step_index':
      return `Step ${number(Number(value) + 1)}`;
    case 'updated_at':
      return ago(text);
    case 'created_at':
      return model.kind.entity === 'previews' ? show(f, value) : ago(text);
    case 'status':
    case 'stage':
    case 'scoring.heat_score':
      return status(text);
    case 'failure_reason':
      return words(why(text));
    case 'error':
      return because(text);
  }
  const isReference = f.type === 'reference' || f.key === 'company_id';
  return isReference ? knownName(text) || '…' : show(f, value);
}

/** Several values in a cell. @param {ListModel} model @param {Field} f @param {unknown[]} values */
function cellOfMany(model, f, values) {
  switch (f.key) {
    case 'tags':
      return values
        .map((id) => model.tagsByID.get(String(id)))
        .filter((tag) => tag !== undefined)
        .map((tag) => html`<span class=${`tag ${tag.color}`}>${tag.name}</span> `);
    case 'steps':
      return number(values.length);
    case 'audiences':
      return /** @type {API['AudienceName'][]} */ (values).map((a) => a.name).join(', ');
  }
  return show(f, values);
}

/** A held campaign says so and why, whatever its status. @param {API['Hold']} held */
const heldStatus = (held) => {
  const text = `Held: ${why(held.reason)}`;
  return html`<span title=${held.detail || text}>${status('held', text)}</span>`;
};

/** The widths of columns that need more or less room than others. @type {Record<string, number>} */
const widths = {
  name: 300,
  title: 250,
  subject: 300,
  to: 280,
  description: 400,
  website: 220,
  tags: 180,
  account_id: 180,
  country: 120,
};

/** The label of a field, of a reference that of what it names. @param {Field} f */
export const labelOf = (f) =>
  f.label.replace(
    f.type === 'reference' || f.key === 'company_id' ? / ID$/ : / (at|index)$|(?<=Template) name$/,
    '',
  );
