// @ts-check
// The companies and people of a Preview, each with why it is in or out.
import { post, request } from '../api.js';
import { confirm } from '../components/dialog.js';
import { nameOf } from '../components/field.js';
import { beside, empty, pairs, status } from '../components/parts.js';
import { column, Table } from '../components/table.js';
import { words } from '../format.js';
import { encode } from '../query.js';
import { reload, setSearch } from '../router.js';
import { may, update } from '../state.js';
import { number, plural, why } from '../text.js';

/** @typedef {import('./market.js').Model} Model */

/** A company or person of a Preview. @typedef {API['Member'] & {id: string}} Member */

/** Shows the members that an Import would take, instead of those that a reason excludes. */
export const eligible = 'ELIGIBLE';

/** @param {API['Member']} m */
const reasonOf = (m) =>
  m.exclusion_reason ||
  m.preparation_exclusion_reason ||
  (m.is_duplicate_source_row ? 'DUPLICATE_ROW' : 'NOT_SELECTED');

/** @param {API['Member']} m */
const evidenceOf = ({ qualification: q }) => q?.evidence || words(why(q?.reason));

/** @param {Model} model @returns {Table<Member>} */
export function members(model) {
  return new Table({
    label: 'Members',
    selectable: may('write') && model.kind === 'company',
    onSelect: update,
    fetch: async (page, size, signal) => {
      const q = new URLSearchParams({
        kind: model.kind,
        current_page: String(page),
        page_size: String(size),
        ...(model.reason === eligible
          ? { selected: 'true' }
          : model.reason
            ? { reason: model.reason }
            : {}),
      });
      const { body } = await request('GET', `${model.path}/members?${q}`, undefined, { signal });
      return {
        data: body.data.members.map((/** @type {API['Member']} */ m) => ({
          ...m,
          id: m.member_id,
        })),
        pagination: body.data.pagination_meta,
        meta: body.meta,
      };
    },
    columns: [
      column('name', 'Name', 220, (m) => nameOf(m.data)),
      column(
        'what',
        model.kind === 'company' ? 'Industry' : 'Title',
        200,
        (m) => m.data.industry || m.data.title || '',
      ),
      column('state', 'Status', 310, (m) =>
        m.selected
          ? status('ready', m.existing ? 'Exists already' : 'Eligible')
          : status('open', words(why(reasonOf(m)))),
      ),
      column('why', 'Evidence', 380, (m) => evidenceOf(m)),
    ],
    empty: () => empty('Nothing is here.'),
    onOpen: (m) => peek(model, m),
    onCursor: (m) => {
      if (model.open) peek(model, m);
    },
    onLoad: update,
  });
}

/** Shows a member beside the others, or none. @param {Model} model @param {Member | null} [m] */
export function peek(model, m) {
  model.open = m?.id || '';
  setSearch(encode({}, { kind: model.kind, reason: model.reason, open: model.open }));
  update();
}

/**
 * Why the member of the address is in or out. It must be among the rows that are loaded.
 * @param {Model} model
 * @param {Table<Member>} table
 */
export function member(model, table) {
  const m = model.open && table.records().find((row) => row.id === model.open);
  if (!m) return null;
  /** @type {[string, unknown][]} */
  const values = Object.entries(m.data);
  const facts = values
    .filter(([key, value]) => value && typeof value !== 'object' && !/(^|_)id$/.test(key))
    .map(
      ([key, value]) =>
        /** @type {[string, string]} */ ([
          words(key),
          typeof value === 'number' && !key.endsWith('year') ? number(value) : String(value),
        ]),
    );
  return beside(
    nameOf(m.data),
    null,
    () => peek(model),
    pairs([
      ['Status', m.selected ? 'Eligible' : words(why(reasonOf(m)))],
      ['Evidence', evidenceOf(m) || '—'],
      ...facts,
    ]),
  );
}

/** @param {Model} model @param {Table<Member>} table */
export async function exclude(model, table) {
  const ids = [...table.selected];
  if (ids.length === 0) return;
  const chosen = [...table.blocks.values()]
    .flat()
    .filter((m) => ids.includes(m.id))
    .map((m) => m.source_id);
  if (
    await confirm({
      text: 'This cannot be undone.',
      action: plural(ids.length, 'Exclude {n} company', 'Exclude {n} companies'),
      danger: true,
      count: ids.length,
    })
  ) {
    await post(`${model.path}/exclude`, { company_ids: chosen });
    await reload();
  }
}
