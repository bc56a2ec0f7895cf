// @ts-check
// What can be done with the records of a list.
import { ApiError, is, newKey, post } from '../api.js';
import { confirm, form } from '../components/dialog.js';
import { field } from '../components/field.js';
import { button, inTrash, toast } from '../components/parts.js';
import { html } from '../dom.js';
import { selection } from '../query.js';
import { go } from '../router.js';
import { number, plural } from '../text.js';
import { addToAudience, addToCampaign } from './add_contacts.js';
import { schemaField, valueOf } from './create.js';
import { namesOf } from './entities.js';
import { followOperation } from './undo.js';

/** @typedef {import('./list_model.js').ListModel} ListModel */

/**
 * A change of many records.
 * @typedef {{
 *   set?: Record<string, unknown>,
 *   add_tags?: string[],
 *   remove_tags?: string[],
 *   delete?: boolean,
 * }} Change
 */

/**
 * The records that an action concerns: those that are selected, or all that match.
 * @param {ListModel} model
 */
const chosen = (model) =>
  model.isEverything
    ? { search: '', filters: [], ...selection(model.view) }
    : { ids: [...model.table.selected] };

/**
 * Changes the chosen records, or counts them only.
 * @param {ListModel} model
 * @param {Change} change
 * @param {{dry_run: true} | {expect: number}} how
 */
const bulk = (model, change, how) =>
  post(`/v1/${model.kind.entity}/bulk`, { ...chosen(model), ...change, ...how }, { key: newKey() });

/**
 * How many records a change concerns.
 * @param {ListModel} model
 * @param {Change} change
 * @returns {Promise<number>}
 */
const count = async (model, change) => (await bulk(model, change, { dry_run: true })).matched;

/**
 * A text with the number and the kind of records.
 * @param {ListModel} model
 * @param {number} n
 * @param {string} one
 * @param {string} other
 */
const counted = ({ kind }, n, one, other) => plural(n, one, other, namesOf(kind));

/**
 * Changes the chosen records, unless there are not n of them any more, and shows how far it is.
 * @param {ListModel} model
 * @param {Change} change
 * @param {number} n
 * @param {(n: number) => string} message
 */
async function start(model, change, n, message) {
  const which = chosen(model);
  const { id } = await bulk(model, change, { expect: n });
  model.table.clearSelection();
  model.isEverything = false;
  const label = change.delete
    ? counted(model, n, 'Deleting {n} {kind}', 'Deleting {n} {title}')
    : counted(model, n, 'Changing {n} {kind}', 'Changing {n} {title}');
  const work = {
    href: model.kind.path,
    label,
    seen: () => {
      model.all = -1;
    },
    done: (/** @type {Operation} */ { changed }) => message(changed),
  };
  followOperation(id, {
    ...work,
    more: change.delete
      ? (o, close) =>
          forceNotice(o, () => {
            close();
            return deleteWithForce(model, which, work);
          })
      : undefined,
  });
  return true;
}

/**
 * What to do about records that were not deleted because dynamic audiences depend on them.
 * @param {Operation} o
 * @param {() => unknown} act
 */
function forceNotice({ problems }, act) {
  const refused = problems.filter(
    (p) => p.code === 'in_use' && p.message.startsWith('audiences: '),
  );
  const n = refused.reduce((sum, p) => sum + p.count, 0);
  return (
    n > 0 &&
    html`<div class="notice warn">
      <span class="grow"
        >${plural(
          n,
          'Dynamic audiences depend on {n} record that was not deleted. If you delete it, these ' +
            'audiences become static with the contacts they have now.',
          'Dynamic audiences depend on {n} records that were not deleted. If you delete them, ' +
            'these audiences become static with the contacts they have now.',
        )}</span
      >${button(plural(n, 'Delete {n} nevertheless', 'Delete {n} nevertheless'), act, 'danger')}
    </div>`
  );
}

/**
 * Deletes what is left of the records that were chosen.
 * @param {ListModel} model
 * @param {ReturnType<typeof chosen>} which
 * @param {Parameters<typeof followOperation>[1]} work
 */
async function deleteWithForce({ kind }, which, work) {
  // those that are deleted do not match any more
  const left = 'ids' in which ? { filters: [is('id', which.ids)] } : which;
  const { id } = await post(
    `/v1/${kind.entity}/bulk`,
    { ...left, delete: true, force: true },
    { key: newKey() },
  );
  followOperation(id, work);
}

/** @type {Record<string, (model: ListModel) => unknown>} */
export const actions = {
  async done(model) {
    const change = { set: { status: 'completed' } };
    const n = await count(model, change);
    const action = plural(n, 'Mark {n} task as done', 'Mark {n} tasks as done');
    if (model.isEverything && !(await confirm({ action }))) return;
    await start(model, change, n, (done) => plural(done, '{n} task done', '{n} tasks done'));
  },

  async delete(model) {
    const n = await count(model, { delete: true });
    const action = counted(model, n, 'Delete {n} {kind}', 'Delete {n} {title}');
    if (await confirm({ text: inTrash(n), action, danger: true, count: n })) {
      await start(model, { delete: true }, n, (done) => `${number(done)} deleted`);
    }
  },

  merge: (model) => go(`${model.kind.path}/duplicates?ids=${[...model.table.selected].join()}`),

  async tag(model) {
    const usable = model.tags();
    if (usable.length === 0) return toast('Create a tag in the settings first.');
    const n = await count(model, { add_tags: [usable[0].id] });
    await form(
      {
        title: counted(model, n, 'Tags of {n} {kind}', 'Tags of {n} {title}'),
        action: counted(model, n, 'Change {n} {kind}', 'Change {n} {title}'),
        body: (state) =>
          html`<div class="columns">
            ${field(state, {
              name: 'how',
              label: 'Action',
              required: true,
              options: [
                { value: 'add_tags', label: 'Add the tag' },
                { value: 'remove_tags', label: 'Remove the tag' },
              ],
            })}
            ${field(state, {
              name: 'tag',
              required: true,
              options: usable.map((tag) => ({ value: tag.id, label: tag.name })),
            })}
          </div>`,
        submit: ({ values }) =>
          start(model, { [values.how]: [values.tag] }, n, (done) =>
            values.how === 'add_tags'
              ? `${number(done)} tagged`
              : `The tag was removed from ${number(done)}`,
          ),
      },
      { how: 'add_tags', tag: usable[0].id },
    );
  },

  async edit(model) {
    const fields = model.schema.fields
      .filter(
        (f) =>
          !f.read_only &&
          f.type !== 'multi' &&
          !/\.|^(id|tags|external_id|email|do_not_contact)$/.test(f.key),
      )
      .sort((a, b) => a.label.localeCompare(b.label));
    const first = fields.find((f) => /^(title|industry|stage)$/.test(f.key)) || fields[0];
    const n = await count(model, { set: { notes: null } }); // whatever is set
    await form(
      {
        title: counted(model, n, 'Change a field of {n} {kind}', 'Change a field of {n} {title}'),
        action: counted(model, n, 'Change {n} {kind}', 'Change {n} {title}'),
        body: (state) => {
          const f = fields.find((other) => other.key === state.values.field) || first;
          return html`<div class="columns">
              ${field(state, {
                name: 'field',
                required: true,
                options: fields.map((other) => ({ value: other.key, label: other.label })),
              })}${schemaField(state, f)}
            </div>
            <p class="soft">
              ${
                state.values[f.key]
                  ? 'The value replaces what the records have now.'
                  : 'Without a value, the field becomes empty.'
              }
            </p>`;
        },
        submit: async ({ values: { field: key, ...values } }) => {
          try {
            return await start(
              model,
              { set: { [key]: valueOf(model.schema, key, values[key]) } },
              n,
              (done) => `${number(done)} changed`,
            );
          } catch (error) {
            if (error instanceof ApiError)
              for (const detail of error.details) detail.path = detail.path.replace(/^set\./, '');
            throw error;
          }
        },
      },
      { field: first.key },
    );
  },

  audience: addToAudience,

  campaign: addToCampaign,
};
