// @ts-check
// An audience: its contacts, or who its contacts are, and the campaigns that send to them.
import { get, is, list, newKey, patch, post } from '../api.js';
import { form } from '../components/dialog.js';
import { field, knownName, nameOf, resolveAll } from '../components/field.js';
import { button, empty, heading, selected, status, toast } from '../components/parts.js';
import { column, Table } from '../components/table.js';
import { html } from '../dom.js';
import { go, link, reload } from '../router.js';
import { may, update } from '../state.js';
import { number, plural } from '../text.js';
import { deleteUsed } from '../uses.js';
import { contactFields, drop, rulesOf } from './audience_rules.js';
import { openHistory } from './history.js';
import { deleted } from './undo.js';

/** @typedef {import('./audience_rules.js').Rules} Rules */

/**
 * What the page knows. draft is what was changed of the filters and is not saved, counts what the
 * change does.
 * @typedef {Awaited<ReturnType<typeof read>> & {
 *   table: Table<API['Contact']>,
 *   draft: Rules | null,
 *   counts: {now: number, then: number, come: number, leave: number} | null,
 *   isDirty: boolean,
 * }} Model
 */

/** @type {PageModule<Model>} */
export const audiencePage = {
  title: (model) => model.audience.name,
  async load(params, signal, previous) {
    const now = await read(params, signal);
    /** @type {Model} */
    const model = previous
      ? Object.assign(previous, now)
      : { ...now, table: members(now, () => model.q), draft: null, counts: null, isDirty: false };
    void model.table.refresh({ first: params.row }).catch(() => {});
    return model;
  },
  view: audienceView,
  close: (model) => model.table.close(),
  keys: (model) => ({
    '/': () => document.getElementById('search')?.focus(),
    ...model.table.keys((c) => void go(`/contacts/${c.id}`)),
  }),
};

/**
 * Reads the audience of the address.
 * @param {Params} params
 * @param {AbortSignal} signal
 */
async function read({ args, search }, signal) {
  const path = /** @type {const} */ (`/v1/audiences/${args.id}`);
  const [audience, campaigns, fields] = await Promise.all([
    get(path, { signal }),
    list(
      '/v1/campaigns/list',
      { page_size: 500, sort: 'name', filters: [is('audiences', args.id)] },
      { signal },
    ),
    contactFields(),
  ]);
  return {
    path,
    audience,
    fields,
    isDynamic: audience.type === 'dynamic',
    q: search.get('q') || '',
    campaigns: campaigns.data,
  };
}

/**
 * The table of the contacts.
 * @param {Awaited<ReturnType<typeof read>>} audience
 * @param {() => string} search returns what is searched
 */
function members({ path, isDynamic }, search) {
  /** @type {Table<API['Contact']>} */
  const table = new Table({
    label: 'Contacts',
    href: (c) => link(`/contacts/${c.id}`),
    selectable: may('write') && !isDynamic,
    onSelect: update,
    fetch: (page, page_size, signal) =>
      list(
        `${path}/contacts/list`,
        { page, page_size, ...(search() ? { search: search() } : {}) },
        { signal },
      ),
    columns: [
      column('name', 'Name', 220, nameOf),
      column('title', 'Title', 220, (c) => c.title),
      column('account_id', 'Account', 200, (c) => knownName(c.account_id)),
      column('email', 'Email', 260, (c) => c.email),
      column('state', 'Status', 160, (c) => c.do_not_contact && status('stopped', 'opted out')),
    ],
    onLoad: async (page) => {
      await resolveAll(
        'accounts',
        page.data.map((c) => c.account_id),
      ).catch(() => {});
      table.draw();
    },
    empty: () =>
      search() || isDynamic
        ? empty('No contact matches.')
        : empty(
            'The audience is empty. Select contacts in their list and add them.',
            html`<a class="button primary" href=${link('/contacts')}>Contacts</a>`,
          ),
  });
  return table;
}

/** @param {Model} model */
function audienceView(model) {
  const { audience: a, table, campaigns } = model;
  return html`<div class="page list-page">
    ${heading({
      up: ['/audiences', 'Audiences'],
      title: html`${a.name} <span class="soft">${number(a.contact_count)}</span>`,
      needs: 'write',
      actions: html` ${button('History', () =>
        openHistory('audiences', a.name, model.path),
      )}${button('Rename…', () => rename(model))}${button(
        a.status === 'active' ? 'Archive' : 'Activate',
        () => setStatus(model, a.status === 'active' ? 'archived' : 'active'),
      )}
      ${button('Delete…', () => deleteAudience(model), 'danger')}`,
    })}
    <p class="chips">
      <span class="soft"
        >${campaigns.length ? 'Campaigns:' : 'No campaign sends to this audience.'}</span
      >
      ${campaigns.map(
        (c) =>
          html`<a class="chip" href=${link(`/campaigns/${c.id}`)} dir="auto"
            >${status(c.held ? 'held' : c.status, c.name)}</a
          >`,
      )}
    </p>
    ${model.isDynamic && rulesOf(model)}
    <div class="toolbar">
      <input
        id="search"
        class="search"
        type="search"
        aria-label="Search contacts"
        placeholder=${'Search contacts  /'}
        dir="auto"
        .value=${model.q}
        @input=${(e) => {
          model.q = e.target.value;
          void table.refresh({ first: 0 }).catch(() => {});
        }}
      />
    </div>
    ${table.element}
    ${selected(model, (n) =>
      button(`Remove ${number(n)} from the audience`, () => removeMembers(model)),
    )}
  </div>`;
}

/** @param {Model} model */
async function removeMembers({ path, table, campaigns }) {
  const contact_ids = [...table.selected];
  table.clearSelection();
  await post(`${path}/contacts/remove`, { contact_ids }, { key: newKey() });
  toast(plural(contact_ids.length, '{n} contact removed', '{n} contacts removed'), {
    undo: async () => {
      await post(`${path}/contacts/add`, { contact_ids }, { key: newKey() });
      await reload();
      if (campaigns.length > 0)
        toast('Their sequences have stopped. Restart people… of the campaign continues them.');
    },
  });
  await reload();
}

/** @param {Model} model @param {'active' | 'archived'} value */
async function setStatus({ path, audience }, value) {
  await patch(path, { status: value });
  toast(`The audience is ${value}`, {
    undo: async () => {
      await patch(path, { status: audience.status });
      await reload();
    },
  });
  await reload();
}

/** @param {Model} model */
async function rename({ path, audience }) {
  if (
    await form(
      {
        title: 'Rename the audience',
        action: 'Save',
        body: (state) => field(state, { name: 'name', required: true }),
        submit: ({ values }) => patch(path, values),
      },
      { name: audience.name },
    )
  )
    await reload();
}

/** @param {Model} model */
async function deleteAudience(model) {
  const { path, audience } = model;
  if (
    !(await deleteUsed({
      path,
      title: `Delete ${audience.name}?`,
      text: 'The contacts stay. You can restore the audience with its contacts from the trash for 30 days.',
      action: 'Delete the audience',
    }))
  )
    return;
  drop(model);
  await go('/audiences');
  deleted(audience.name, path, `/audiences/${audience.id}`);
}
