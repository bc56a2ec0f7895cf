// @ts-check
// What was deleted, and what can be done with it: restoring or deleting it for ever.
import { list, newKey, post } from '../api.js';
import { confirm } from '../components/dialog.js';
import { words } from '../format.js';
import { may } from '../state.js';
import { plural } from '../text.js';
import { kindOf, namesOf } from './entities.js';
import { followOperation } from './undo.js';

export const kinds = [
  'contacts',
  'accounts',
  'opportunities',
  'tasks',
  'meetings',
  'audiences',
  'templates',
  'campaigns',
  'tags',
  'fields',
];

/** The kind of a tab of the trash. @param {string} name */
export const kindIn = (name) => /** @type {Entity} */ (kindOf(name));

/** Whether the user may restore and delete records of a kind. @param {Entity} kind */
export const mayDelete = (kind) => may(kind.entity === 'fields' ? 'admin' : 'write');

/**
 * What tells deleted records of a kind apart beside their names.
 * @param {Entity} kind
 * @returns {[string, (r: Trashed) => unknown]}
 */
export const detailOf = ({ entity }) =>
  /** @type {Record<string, [string, (r: Trashed) => unknown]>} */ ({
    tags: ['Of', (r) => words(String(r.object_type))],
    fields: ['Of', (r) => `${words(String(r.entity))}, ${r.key}`],
    campaigns: ['Status', (r) => words(String(r.status))],
    audiences: ['Contacts', (r) => String(r.contact_count)],
    'sequence-templates': ['Steps', (r) => Array.isArray(r.steps) && String(r.steps.length)],
  })[entity] || ['Email or website', (r) => r.email || r.website || ''];

/**
 * A deleted record of any kind.
 * @typedef {Item & {deleted_at: string, deleted_by: string | null}} Trashed
 */

/**
 * What the page of the trash knows. isEverything says whether all records are selected.
 * @typedef {{kind: Entity, isEverything: boolean, table: import('../components/table.js').Table<Trashed>}} Trash
 */

/**
 * A page of deleted records.
 * @param {Entity} kind
 * @param {number} page
 * @param {number} page_size
 * @param {AbortSignal} [signal]
 */
export const trashed = (kind, page, page_size, signal) =>
  list(`/v1/${kind.entity}/trash/list`, { page, page_size }, { signal });

/**
 * Does something with the selected records, or with all, unless there are not n of them any more.
 * @param {Trash} model
 * @param {{restore: true} | {delete: true}} change
 * @param {{dry_run: true} | {expect: number}} how
 */
const bulk = ({ kind, table, isEverything }, change, how) =>
  post(
    `/v1/${kind.entity}/trash/bulk`,
    { ...(isEverything ? { filters: [] } : { ids: [...table.selected] }), ...change, ...how },
    { key: newKey() },
  );

/**
 * Shows how far an operation on the trash is.
 * @param {Trash} model
 * @param {string} id
 * @param {string} label
 * @param {string} one
 * @param {string} other
 */
function show(model, id, label, one, other) {
  model.table.clearSelection();
  model.isEverything = false;
  followOperation(id, {
    href: '/settings/trash',
    label,
    done: ({ changed }) => plural(changed, one, other),
  });
}

/** @param {Trash} model @param {number} n */
export async function restore(model, n) {
  const { id } = await bulk(model, { restore: true }, { expect: n });
  show(
    model,
    id,
    plural(n, 'Restoring {n} record', 'Restoring {n} records'),
    '{n} record restored',
    '{n} records restored',
  );
}

/**
 * Deletes the records that were there when it asked, or none if there are others by then.
 * @param {Trash} model
 */
export async function erase(model) {
  const { matched: n } = await bulk(model, { delete: true }, { dry_run: true });
  const action = plural(
    n,
    'Delete {n} {kind} permanently',
    'Delete {n} {title} permanently',
    namesOf(model.kind),
  );
  if (!(await confirm({ text: 'This cannot be undone.', action, danger: true, count: n }))) return;
  const { id } = await bulk(model, { delete: true }, { expect: n });
  show(model, id, action, '{n} record deleted permanently', '{n} records deleted permanently');
}
