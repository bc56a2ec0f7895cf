// @ts-check
// What an import did or would do: the rows, which add up, the changes and the problems.
import { bars } from '../components/chart.js';
import { soft, table } from '../components/parts.js';
import { html } from '../dom.js';
import { words } from '../format.js';
import { number, plural } from '../text.js';

/** @param {API['FileImport']} i */
export const failure = (i) =>
  i.status === 'cancelled'
    ? 'The import was cancelled. What it had imported stays.'
    : `The import failed: ${i.failure_reason}`;

/**
 * The rows of an import: they add up.
 * @param {API['FileImport']} i
 * @param {unknown} [ofNew]
 * @param {unknown} [ofSkipped] what can be done with them
 */
export const counts = (i, ofNew, ofSkipped) =>
  html`${bars([
    { label: 'Rows', value: i.rows },
    { label: 'New', value: i.added, className: 'fill-good', action: ofNew },
    { label: 'Updated', value: i.updated },
    { label: 'Unchanged', value: i.unchanged, className: 'fill-soft' },
    { label: 'Skipped', value: i.skipped, className: 'fill-soft', action: ofSkipped },
  ])}
  ${
    i.opt_outs_kept > 0 &&
    html`<p>
      ${plural(
        i.opt_outs_kept,
        '{n} row says that somebody has not opted out who has; the opt-out stays',
        '{n} rows say that somebody has not opted out who has; the opt-outs stay',
      )}
    </p>`
  }
  ${
    i.values_dropped > 0 &&
    html`<p>
      ${plural(i.values_dropped, '{n} unreadable value, left out', '{n} unreadable values, left out')}
    </p>`
  }`;

/**
 * What rows change in records that exist, field by field.
 * @param {API['FileImport']} i
 * @param {Field[]} fields
 */
export function changes(i, fields) {
  if (!i.changes?.length) return null;
  const labelOf = (/** @type {string} */ key) =>
    fields.find((f) => f.key === key)?.label || words(key);
  const shown = (/** @type {unknown} */ v) =>
    v === null || v === '' ? 'nothing' : typeof v === 'object' ? listText(v) : String(v);
  return html`<h3>${i.dry_run ? 'What would change' : 'What changed'}</h3>
    ${table(
      ['Field', 'Records', 'For example'],
      i.changes.map((c) => [
        labelOf(c.field),
        number(c.count),
        html`${c.samples.map(
          (s) =>
            html`<div>
              <span class="wrap"
                >${soft(`line ${number(s.line)}`)} ${shown(s.from)} →
                <strong>${shown(s.to)}</strong></span
              >
            </div>`,
        )}`,
      ]),
    )}`;
}

/** @param {object} v a list or an object */
const listText = (v) =>
  (Array.isArray(v) ? v : Object.values(v).filter((x) => x !== null)).join(', ') || 'nothing';

/** @param {API['FileImport']} i */
export function problems({ problems: all }) {
  if (!all?.length) return null;
  const sorted = [...all].sort(
    (a, b) => (a.column || '').localeCompare(b.column || '') || b.count - a.count,
  );
  return html`<h3>Problems</h3>
    ${table(
      ['Column', 'Value', 'Problem', 'Rows', 'First line'],
      sorted
        .slice(0, 200)
        .map((p) => [
          p.column || '—',
          p.value ? html`<code class="wrap">${p.value}</code>` : '',
          p.message,
          number(p.count),
          p.first_line,
        ]),
    )}
    ${sorted.length > 200 && soft(`and ${number(sorted.length - 200)} more kinds of problems`)}`;
}
