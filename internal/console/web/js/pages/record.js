// @ts-check
// The page of one record: its fields, what comes next, and what happened.
import { getPage, is, list, remove, request, schemaOf, tags } from '../api.js';
import { confirm, FormState } from '../components/dialog.js';
import { knownName, nameOf, resolve, resolveAll } from '../components/field.js';
import { guessReference } from '../components/filter.js';
import { button, heading, section, soft } from '../components/parts.js';
import { html, keyed } from '../dom.js';
import { words } from '../format.js';
import { go, link } from '../router.js';
import { origin } from '../state.js';
import { number } from '../text.js';
import { deleteUsed } from '../uses.js';
import { entities } from './entities.js';
import { past, readMentioned } from './history.js';
import { fieldRow, ordered } from './record_fields.js';
import { next, optOut, readSteps, replied } from './record_next.js';
import { save } from './record_save.js';
import { deleted } from './undo.js';

/** @typedef {import('./record_next.js').NextStep} NextStep */

/**
 * A record of any kind, with the fields that the page uses where the kind has them.
 * @typedef {Item & {
 *   account_id?: string | null,
 *   title?: string | null,
 *   industry?: string | null,
 *   stage?: string | null,
 *   status?: string | null,
 *   email?: string | null,
 *   do_not_contact?: boolean,
 * }} AnyRecord
 */

/**
 * What the page knows. editing is the key of the field that is being changed, state its value.
 * @typedef {{
 *   kind: Entity,
 *   path: `/v1/${string}/${string}`,
 *   schema: Schema,
 *   record: AnyRecord,
 *   etag: string | null,
 *   contacts: Page<API['Contact']> | null,
 *   history: API['Change'][],
 *   timeline: API['TimelineEntry'][],
 *   sequences: NextStep[],
 *   tags: API['Tag'][],
 *   tab: string,
 *   editing: string,
 *   state: FormState,
 *   isSaving: boolean,
 * }} Model
 */

/** Reads the names of the records to which a record refers. @param {Schema} schema @param {Item} record */
async function readReferences(schema, record) {
  await Promise.all(
    schema.fields.map((f) => {
      const id = record[f.key];
      return (
        f.type === 'reference' &&
        f.key !== 'id' &&
        id &&
        typeof id === 'string' &&
        resolve(f.reference || guessReference(f.key), id).catch(() => '')
      );
    }),
  );
}

/**
 * Reads a record with what happened to it and what belongs to it.
 * @param {Entity} kind
 * @param {string} id
 * @param {URLSearchParams} search
 * @param {AbortSignal} signal
 * @returns {Promise<Model>}
 */
async function load(kind, id, search, signal) {
  const path = /** @type {const} */ (`/v1/${kind.entity}/${id}`);
  const [schema, answer, history, allTags] = await Promise.all([
    schemaOf(kind.entity),
    request('GET', path, undefined, { signal }).catch((error) => {
      // the record that it was merged into
      const to = error.status === 404 && error.details[0]?.id;
      if (to) void go(`${kind.path}/${to}`, { replace: true });
      throw error;
    }),
    getPage(`${path}/history?page_size=50`, { signal }),
    tags(),
  ]);
  const isContact = kind.entity === 'contacts';
  const [timeline, sequences] = isContact
    ? await Promise.all([
        getPage(`${path}/timeline?page_size=100`, { signal }),
        list('/v1/sequences/list', { filters: [is('contact_id', id)], page_size: 20 }, { signal }),
      ])
    : [null, null];
  const contacts =
    kind.entity === 'accounts'
      ? await list(
          '/v1/contacts/list',
          { filters: [is('account_id', id)], page_size: 20, sort: 'last_name' },
          { signal },
        )
      : null;
  /** @type {AnyRecord} */
  const record = answer.body.data;
  await readMentioned(schema, history.data);
  await readReferences(schema, record);
  if (sequences)
    await Promise.all([
      resolveAll(
        'campaigns',
        sequences.data.map((s) => s.campaign_id),
      ),
      readSteps(sequences.data, signal),
    ]).catch(() => {});
  return {
    kind,
    path,
    schema,
    record,
    contacts,
    etag: answer.headers.get('ETag'),
    history: history.data,
    timeline: timeline?.data || [],
    sequences: sequences?.data || [],
    tags: allTags,
    tab: search.get('tab') || 'all',
    editing: '',
    state: new FormState({}),
    isSaving: false,
  };
}

/** The page of a kind of record. @param {string} name @returns {PageModule<Model>} */
export function recordPage(name) {
  const kind = entities[name];
  return {
    title: (model) => nameOf(model.record),
    load: ({ args, search }, signal) => load(kind, args.id, search, signal),
    view,
    keys: (model) => ({
      j: () => beside(model, 1),
      k: () => beside(model, -1),
      e: () => /** @type {HTMLElement | null} */ (document.querySelector('.inline-edit'))?.click(),
    }),
  };
}

/** @param {Model} model */
function view(model) {
  const { record, kind } = model;
  const isContact = kind.entity === 'contacts';
  const subtitle = isContact
    ? [record.title, knownName(record.account_id)].filter(Boolean).join(', ')
    : record.industry || words(record.stage || record.status || '');
  const { at, total } = place(model);
  return html`<div class="page">
    ${heading({
      up: [
        above(model),
        at >= 0 ? `${kind.title}, ${number(at + 1)} of ${number(total)}` : kind.title,
      ],
      title: nameOf(record),
      note: subtitle,
      needs: 'write',
      actions: html` ${
        kind.entity === 'tasks' &&
        record.status === 'open' &&
        button('Done', () => save(model, 'status', 'completed'), 'primary')
      }
      ${isContact && button('Replied…', () => replied(model))}${
        isContact && !record.do_not_contact && button('Opt out…', () => optOut(model))
      }
      ${button('Delete…', () => deleteRecord(model), 'danger')}`,
    })}
    ${
      record.do_not_contact &&
      html`<p class="notice warn">This contact has opted out and receives nothing.</p>`
    }
    <div class="two">
      ${section(
        'Fields',
        html`<dl class="pairs fields">
          ${keyed(
            ordered(model.schema),
            (f) => f.key,
            (f) => fieldRow(model, f),
          )}
        </dl>`,
      )}
      <div class="section">${isContact && next(model)}${contactsOf(model)}${past(model)}</div>
    </div>
  </div>`;
}

/** Where the record is in the list from which it was opened. @param {Model} model */
function place({ record, kind }) {
  return {
    at: origin.path === kind.path ? origin.ids.indexOf(record.id) : -1,
    total: origin.total,
  };
}

/**
 * The list above the record: the one from which it was opened, with its filters, or that of all.
 * @param {Model} model
 */
const above = (model) => (place(model).at >= 0 ? origin.href : model.kind.path);

/** Goes to the record beside this one in the list. @param {Model} model @param {number} by */
function beside(model, by) {
  const { at } = place(model);
  const id = at >= 0 && origin.ids[at + by];
  if (id) void go(`${model.kind.path}/${id}`, { replace: true });
}

/** The people of an account. @param {Model} model */
const contactsOf = ({ record, contacts }) =>
  contacts &&
  section(
    'Contacts',
    contacts.data.length === 0
      ? soft('No contacts yet.')
      : html`<ul class="list">
          ${contacts.data.map(
            (c) =>
              html`<li>
                <a href=${link(`/contacts/${c.id}`)} dir="auto">${nameOf(c)}</a
                ><span class="soft grow clip" dir="auto">${c.title}</span>
              </li>`,
          )}
        </ul>`,
    html`<a href=${link(`/contacts?f=account_id:is:${record.id}`)}
      >${number(contacts.pagination.total_count)}</a
    >`,
  );

/** @param {Model} model */
async function deleteRecord(model) {
  const { kind } = model;
  const name = nameOf(model.record);
  const action = `Delete this ${kind.one}`;
  const question = {
    path: model.path,
    title: `Delete ${name}?`,
    text: 'You can restore it from the trash for 30 days. Other records then get their references to it back.',
    action,
  };
  if (kind.entity === 'accounts') {
    if (!(await deleteUsed(question))) return;
  } else {
    if (!(await confirm({ ...question, danger: true }))) return;
    await remove(model.path);
  }
  deleted(name, model.path, `${kind.path}/${model.record.id}`);
  void go(above(model), { replace: true }); // Back does not lead to what is gone
}
