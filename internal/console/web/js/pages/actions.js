// @ts-check
// What can be done with the records of a list.
import { ApiError, get, is, list, newKey, post, remove } from '../api.js';
import { confirm, form } from '../components/dialog.js';
import { field, nameOf, optionsOf } from '../components/field.js';
import { allowedValues, guessReference } from '../components/filter.js';
import { button, download, failed, inTrash, status, toast } from '../components/parts.js';
import { html } from '../dom.js';
import { fromInput } from '../format.js';
import { body, selection } from '../query.js';
import { go, link, reload } from '../router.js';
import { update } from '../state.js';
import { number, plural } from '../text.js';
import { deleteUsed } from '../uses.js';
import { createAudience } from './audience.js';
import { createCampaign } from './campaign_actions.js';
import { namesOf } from './entities.js';
import { followOperation } from './undo.js';

/** @typedef {import('./list.js').ListModel} ListModel */

/** The values of a form that were filled in. @param {Item} values */
export const filled = (values) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== ''));

/**
 * The input of a field of the schema.
 * @param {FormState} state
 * @param {Field} f
 * @param {unknown} [help]
 */
function schemaField(state, f, help = '') {
  const allowed = allowedValues(f);
  return field(state, {
    name: f.key,
    label: f.label,
    type: f.type,
    help,
    options: allowed.length ? optionsOf(allowed) : undefined,
    reference: f.type === 'reference' ? f.reference || guessReference(f.key) : null,
    rows: f.key === 'notes' ? 4 : undefined,
  });
}

/**
 * The value of an input as the API takes it.
 * @param {Schema} schema
 * @param {string} key
 * @param {any} value
 */
const valueOf = (schema, key, value) =>
  value && schema.fields.find((f) => f.key === key)?.type === 'datetime'
    ? fromInput(value)
    : (value ?? null);

/**
 * Asks for a new record and opens it, or stays on the page if some values are given.
 * @param {{kind: Entity, schema: Schema}} list
 * @param {Item} [given]
 */
export async function create({ kind, schema }, given) {
  if (kind.entity === 'campaigns') return createCampaign();
  if (kind.entity === 'audiences') return createAudience();
  if (kind.entity === 'sequence-templates') return go('/templates/new');
  const fields = (kind.create || [])
    .map((key) => schema.fields.find((f) => f.key === key))
    .filter((f) => f !== undefined);
  const twin = kind.entity === 'contacts' && twinOf();
  const made = await form(
    {
      title: `New ${kind.one}`,
      action: 'Create',
      body: (state) =>
        html`<div class="columns">
          ${fields.map((f) => schemaField(state, f, f.key === 'email' && twin && twin(state)))}
        </div>`,
      submit: ({ values, key }) =>
        post(
          `/v1/${kind.entity}`,
          Object.fromEntries(
            Object.entries(filled(values)).map(([name, value]) => [
              name,
              valueOf(schema, name, value),
            ]),
          ),
          { key },
        ),
    },
    given,
  );
  if (made) await (given ? reload() : go(`${kind.path}/${made.id}`));
}

/** Returns what shows the contact who has the address of a form already. */
function twinOf() {
  let asked = '';
  /** @type {Item | undefined} */
  let found;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return (/** @type {FormState} */ { values: { email = '' }, draw }) => {
    if (email !== asked) {
      asked = email;
      found = undefined;
      clearTimeout(timer);
      if (/.@.+\../.test(email))
        timer = setTimeout(async () => {
          const { data } = await list('/v1/contacts/list', {
            filters: [is('email', email)],
            page_size: 1,
          });
          if (email === asked) [found] = data;
          draw();
        }, 250);
    }
    return (
      found &&
      status(
        'held',
        html`<a href=${link(`/contacts/${found.id}`)} target="_blank" dir="auto"
          >${nameOf(found)} has this address</a
        >`,
      )
    );
  };
}

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
 * @param {Item} change set, add_tags, remove_tags or delete
 * @param {Item} how
 */
const bulk = (model, change, how) =>
  post(`/v1/${model.kind.entity}/bulk`, { ...chosen(model), ...change, ...how }, { key: newKey() });

/**
 * How many records a change concerns.
 * @param {ListModel} model
 * @param {Item} change
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
 * @param {Item} change
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
    done: (/** @type {Item} */ { changed }) => message(changed),
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
 * @param {Item} o
 * @param {() => unknown} act
 */
function forceNotice({ problems }, act) {
  const refused = problems.filter(
    (/** @type {Item} */ p) => p.code === 'in_use' && p.message.startsWith('audiences: '),
  );
  const n = refused.reduce((/** @type {number} */ sum, /** @type {Item} */ p) => sum + p.count, 0);
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
 * @param {Item} which
 * @param {Parameters<typeof followOperation>[1]} work
 */
async function deleteWithForce({ kind }, which, work) {
  // those that are deleted do not match any more
  const left = which.ids ? { filters: [is('id', which.ids)] } : which;
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

  async audience(model) {
    const audiences = (await all('/v1/audiences/list', 'active')).filter(
      (a) => a.type !== 'dynamic',
    );
    const done = await form({
      title: plural(
        model.count,
        'Add {n} contact to an audience',
        'Add {n} contacts to an audience',
      ),
      action: `Add ${number(model.count)}`,
      body: (state) =>
        html`${field(state, {
          name: 'audience',
          options: audiences.map((a) => ({ value: a.id, label: a.name })),
        })}
        ${field(state, { name: 'name', label: 'Or the name of a new audience' })}`,
      submit: async ({ values, key }) => {
        if (!values.name && !values.audience)
          throw new Error('Choose an audience or name a new one.');
        return values.audience
          ? addTo(values.audience, model)
          : inNewAudience(values.name, key, model);
      },
    });
    if (done) finish(model, done);
  },

  async campaign(model) {
    const campaigns = (await all('/v1/campaigns/list')).filter((c) => c.status !== 'completed');
    if (campaigns.length === 0)
      return toast(
        'There is no campaign yet. Add the contacts to an audience, and create a campaign for it.',
      );
    const done = await form(
      {
        title: plural(
          model.count,
          'Add {n} contact to a campaign',
          'Add {n} contacts to a campaign',
        ),
        action: `Add ${number(model.count)}`,
        body: (state) =>
          html`${field(state, {
            name: 'campaign',
            required: true,
            options: campaigns.map((c) => ({ value: c.id, label: `${c.name} (${c.status})` })),
            help:
              campaigns.find((c) => c.id === state.values.campaign)?.status === 'active'
                ? 'This campaign is running: their first steps happen as soon as they are due.'
                : '',
          })}
          ${field(state, {
            name: 'name',
            label: 'Name of the new audience',
            required: true,
            help: 'The contacts come in as an audience of the campaign.',
          })}`,
        submit: async ({ values, key }) => {
          if (!values.campaign) throw new Error('Choose a campaign.');
          const path = `/v1/campaigns/${values.campaign}`;
          const people = async () =>
            (await list(`${path}/simulate`, { page_size: 1 })).summary.contacts;
          const before = await people().catch(() => 0);
          const { asked } = await inNewAudience(values.name, key, model, (id) =>
            post(`${path}/audiences/add`, { audience_ids: [id] }, { key: newKey() }),
          );
          return {
            asked,
            added: Math.min(asked, Math.max(0, (await people().catch(() => Infinity)) - before)),
            campaign: values.campaign,
          };
        },
      },
      {
        campaign: campaigns.find((c) => c.status !== 'active')?.id,
        name: `${model.view.q || 'Contacts'}, ${new Date().toISOString().slice(0, 16).replace('T', ' ')}`,
      },
    );
    if (!done) return;
    finish(model, done);
    void go(`/campaigns/${done.campaign}`);
  },
};

/** @param {ListModel} model */
export async function saveView(model) {
  const { view, kind } = model;
  const saved = await form({
    title: 'Save this view',
    action: 'Save',
    body: (state) =>
      field(state, {
        name: 'name',
        required: true,
        help: 'Everybody in your organization sees the view.',
      }),
    submit: ({ values, key }) =>
      post(
        '/v1/views',
        {
          entity: kind.entity,
          name: values.name,
          filtering_rules: selection(view).filters || [],
          searching_rule: view.q ? { value: view.q } : null,
          sort: view.sort || null,
          columns: model.table.options.columns.map((c) => c.key),
        },
        { key },
      ),
  });
  if (!saved) return;
  toast(`The view ${saved.name} is saved`);
  await model.loadViews();
}

/** @param {ListModel} model @param {Item} v */
export async function deleteView(model, v) {
  const path = `/v1/views/${v.id}`;
  const { total } = await get(`${path}/uses`);
  if (total === 0) await remove(path);
  else if (
    !(await deleteUsed({
      path,
      title: `Delete the view ${v.name}?`,
      action: 'Delete the view',
    }))
  )
    return;
  toast(`The view ${v.name} is deleted`, {
    undo: async () => {
      const { id, created_at, updated_at, ...content } = v;
      await post('/v1/views', content);
      await model.loadViews();
    },
  });
  await model.loadViews();
}

/** @param {string} path @param {string} [only] a status */
async function all(path, only) {
  return (
    await list(path, {
      page_size: 500,
      sort: 'name',
      ...(only ? { filters: [is('status', only)] } : {}),
    })
  ).data;
}

/**
 * Adds the selection to a new audience, which does not stay if that or what follows fails.
 * @param {string} name
 * @param {string} key
 * @param {ListModel} model
 * @param {(id: string) => unknown} [then]
 */
async function inNewAudience(name, key, model, then) {
  const { id } = await post('/v1/audiences', { name, contact_ids: [] }, { key });
  try {
    const added = await addTo(id, model);
    await then?.(id);
    return added;
  } catch (error) {
    await remove(`/v1/audiences/${id}`).catch(() => {});
    throw error;
  }
}

/**
 * Adds the selection to an audience, by ids or by the query on screen.
 * @param {string} audience
 * @param {ListModel} model
 */
async function addTo(audience, model) {
  if (model.isEverything) {
    // the number on the button is the number of records that change
    const now = (await list(model.kind.list, body(model.view, 1, 1))).pagination.total_count;
    if (now !== model.table.total)
      throw new ApiError(
        409,
        'conflict',
        `${number(now)} contacts match by now, not ${number(model.table.total)}. Nothing was added.`,
      );
  }
  const which = model.isEverything
    ? { search: '', filters: [], ...selection(model.view) }
    : { contact_ids: [...model.table.selected] };
  const { added, failures } = await post(`/v1/audiences/${audience}/contacts/add`, which, {
    key: newKey(),
  });
  return { added, asked: model.count - failures.length };
}

/**
 * @param {ListModel} model
 * @param {{
 *   asked: number,
 *   added: number,
 * }} done how many are there now, and how many of them were not there before
 */
function finish(model, { asked, added }) {
  model.table.clearSelection();
  model.isEverything = false;
  toast(
    plural(added, '{n} contact added', '{n} contacts added') +
      (asked > added
        ? plural(asked - added, ', {n} was in it already', ', {n} were in it already')
        : ''),
  );
  update();
}

/** @param {ListModel} model */
export const exportCSV = (model) =>
  download(`/v1/${model.kind.entity}/export`, `${model.kind.entity}.csv`, {
    ...selection(model.view),
    format: 'csv',
  }).catch(failed);

/** Exports the columns that are shown for a spreadsheet. @param {ListModel} model */
export const exportExcel = (model) =>
  download(
    `/v1/${model.kind.entity}/export?for=excel&locale=${encodeURIComponent(navigator.language)}`,
    `${model.kind.entity}.csv`,
    {
      ...selection(model.view),
      ...(model.view.sort ? { sort: model.view.sort } : {}),
      columns: model
        .columns()
        .flatMap(({ key }) => (key === 'last_name' ? ['first_name', key] : key)),
    },
  ).catch(failed);
