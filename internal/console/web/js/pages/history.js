// @ts-check
// The timeline of a record: messages, tasks, meetings, and its changes with the values before and
// after.
import { getPage, schemaOf, tags } from '../api.js';
import { open } from '../components/dialog.js';
import { knownName, resolveAll } from '../components/field.js';
import { guessReference } from '../components/filter.js';
import { button, soft } from '../components/parts.js';
import { html } from '../dom.js';
import { because, dateTime, show, words } from '../format.js';
import { link, setSearch } from '../router.js';
import { update } from '../state.js';
import { tagsFor } from './entities.js';

/**
 * Reads the names of whom and what changes mention.
 * @param {Schema} schema
 * @param {API['Change'][]} changes
 */
export async function readMentioned({ fields }, changes) {
  /** @type {Record<string, (string | null)[]>} */
  const ids = { users: changes.map((c) => c.user_id) };
  for (const c of changes) {
    const values = [
      ...Object.entries(c.changes || {}).map(([key, { from, to }]) => ({
        key,
        of: [from, to].flat(),
      })),
      ...(c.lost || []).map((l) => ({ key: l.field, of: [l.value] })),
    ];
    for (const { key, of } of values) {
      const f = fields.find((other) => other.key === key);
      if (f?.type === 'reference' && key !== 'tags')
        (ids[f.reference || guessReference(key)] ??= []).push(.../** @type {string[]} */ (of));
    }
  }
  await Promise.all(
    Object.entries(ids).map(([entity, all]) => resolveAll(entity, all).catch(() => {})),
  );
}

/**
 * Shows the history of a record in a dialog.
 * @param {string} entity
 * @param {string} name
 * @param {string} path of the record in the API
 */
export async function openHistory(entity, name, path) {
  const [schema, history, all] = await Promise.all([
    schemaOf(entity),
    getPage(`${path}/history?page_size=200`),
    tags(),
  ]);
  await readMentioned(schema, history.data);
  const model = { kind: { entity }, schema, history: history.data, timeline: [], tags: all };
  await open(
    (close) =>
      html`<div class="panel">
        <h2 dir="auto">${name}</h2>
        ${past(model)}
        <div class="buttons">${button('Close', () => close(null))}</div>
      </div>`,
  );
}

const timelineTabs = [
  ['all', 'All'],
  ['mail', 'Mail'],
  ['tasks', 'Tasks'],
  ['changes', 'Changes'],
];

/**
 * What is known of the record whose past is shown. tab is the kind of entries that is chosen.
 * @typedef {{
 *   kind: {entity: string},
 *   schema: Schema,
 *   history: API['Change'][],
 *   timeline: API['TimelineEntry'][],
 *   tags: API['Tag'][],
 *   tab?: string,
 * }} Past
 */

/**
 * An entry of the timeline: what happened, or a change with its values.
 * @typedef {{
 *   at: string | null,
 *   type: API['TimelineEntry']['type'] | 'change',
 *   title: string,
 *   id?: string,
 *   detail?: string,
 *   values?: string[],
 *   operation?: string | null,
 * }} Entry
 */

/** @param {Past} model */
export function past(model) {
  const { tab: chosen = 'all' } = model;
  const changes = model.history.map((c) => ({
    at: c.at,
    type: /** @type {const} */ ('change'),
    title: changeTitle(c),
    values: valuesOf(model, c),
    operation: c.operation_id,
  }));
  /** @type {Entry[]} */
  const entries = [...model.timeline, ...changes];
  const all = entries
    .filter(
      (e) =>
        chosen === 'all' ||
        (chosen === 'mail' && e.type === 'message') ||
        (chosen === 'tasks' && ['task', 'meeting'].includes(e.type)) ||
        (chosen === 'changes' && e.type === 'change'),
    )
    .sort((a, b) => String(b.at).localeCompare(String(a.at)));
  const tabs = model.timeline.length ? timelineTabs : [];
  return html`<section class="section">
    <header>
      <h2>Timeline</h2>
      <div class="tabs">
        ${tabs.map(
          ([tab, label]) =>
            html`<button
              type="button"
              aria-pressed=${String(chosen === tab)}
              @click=${() => {
                model.tab = tab;
                setSearch(tab === 'all' ? '' : `?tab=${tab}`);
                update();
              }}
            >
              ${label}
            </button>`,
        )}
      </div>
    </header>
    ${
      all.length === 0
        ? soft('Nothing has happened yet.')
        : html`<ul class="timeline">
            ${all
              .slice(0, 200)
              .map(
                (e) =>
                  html`<li>
                    <span class="soft nowrap">${e.at ? dateTime(e.at) : ''}</span>${entry(e)}
                  </li>`,
              )}
          </ul>`
    }
  </section>`;
}

/** What happened. @param {Entry} e */
const entry = (e) =>
  html`<span
    >${
      e.type === 'message'
        ? html`<a dir="auto" href=${link(`/outbox?open=${e.id}`)}>${e.title}</a>`
        : html`<span dir="auto">${because(e.title)}</span>`
    }
    ${e.detail && html` <span class="soft" dir="auto">${because(e.detail)}</span>`}
    ${
      e.operation &&
      html`<a class="small nowrap" href=${link(`/operations/${e.operation}`)}
        >Show the operation</a
      >`
    }
    ${e.values?.map((value) => html`<div class="soft wrap" dir="auto">${value}</div>`)}</span
  >`;

/**
 * A field, perhaps one that the schema does not have any more.
 * @typedef {Pick<Field, 'key' | 'label' | 'type'> & Partial<Field>} NamedField
 */

/**
 * The fields that a change changed, with their values before and after.
 * @param {Past} model
 * @param {API['Change']} change
 * @returns {string[]}
 */
const valuesOf = (model, { changes, lost = [] }) => [
  ...Object.entries(changes || {})
    .filter(([key]) => key !== 'updated_at')
    .map(([key, { from, to }]) => {
      const f = fieldOf(model, key);
      const [before, after] = differing(inText(model, f, from), inText(model, f, to));
      return `${f.label}: ${before} → ${after}`;
    }),
  ...lost.map(
    ({ field, value }) =>
      `Not taken over: ${fieldOf(model, field).label} ${inText(model, fieldOf(model, field), value)}`,
  ),
];

/**
 * @param {Past} model
 * @param {string} key
 * @returns {NamedField}
 */
const fieldOf = (model, key) =>
  model.schema.fields.find((other) => other.key === key) || { key, label: words(key), type: '' };

/**
 * A value in words.
 * @param {Past} model
 * @param {NamedField} f
 * @param {unknown} value
 */
function inText(model, f, value) {
  const isNothing = value === null || value === undefined || value === '';
  if (isNothing || (Array.isArray(value) && value.length === 0)) return 'nothing';
  return [value]
    .flat()
    .map((v) => nameIn(model, f, v))
    .join(', ');
}

const longest = 200; // letters of a value that is shown whole
const around = 40; // letters beside the part of a longer value that differs

/**
 * Two texts, or the parts of long ones that differ.
 * @param {string} a
 * @param {string} b
 * @returns {[string, string]}
 */
function differing(a, b) {
  const most = Math.min(a.length, b.length);
  if (Math.max(a.length, b.length) <= longest) return [a, b];
  let start = 0;
  while (start < most && a[start] === b[start]) start++;
  let end = 0;
  while (end < most - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const part = (/** @type {string} */ text) => {
    const shown = text.slice(Math.max(0, start - around), text.length - Math.max(0, end - around));
    return `${start > around ? '…' : ''}${shown}${end > around ? '…' : ''}`;
  };
  return [part(a), part(b)];
}

/**
 * One value in words, by name if it refers to a record.
 * @param {Past} model
 * @param {NamedField} f
 * @param {unknown} value
 * @returns {string}
 */
function nameIn(model, f, value) {
  if (f.key === 'tags')
    return (
      tagsFor(model.kind.entity, model.tags).find((tag) => tag.id === value)?.name ||
      'a deleted tag'
    );
  if (f.type === 'reference' && f.key !== 'id')
    return knownName(String(value)) || 'a deleted record';
  if (value && typeof value === 'object')
    return Object.entries(value)
      .map(([key, v]) => `${words(key)} ${show({ type: '' }, v) || '—'}`)
      .join(', ');
  return show(f, value);
}

/** @param {API['Change']} change */
function changeTitle({ change, user_id, fields: keys, operation = '' }) {
  const name = knownName(user_id) || 'the service';
  const fields = (keys || [])
    .filter((key) => key !== 'updated_at')
    .map(words)
    .join(', '); // when it was changed is said already
  const isUndo = operation.startsWith('undo');
  if (change === 'deleted') return isUndo ? `Taken back by ${name}` : `Deleted by ${name}`;
  if (change === 'created')
    return /^restore|trash/.test(operation) || isUndo
      ? `Restored by ${name}`
      : operation.startsWith('import')
        ? `Imported by ${name}`
        : `Created by ${name}`;
  if (isUndo && fields) return `${fields} put back by ${name}`;
  return fields
    ? `${fields} changed by ${name}`
    : `Changed by ${name} (${words(operation).toLowerCase()})`;
}
