// @ts-check
// An audience: its contacts, or who its contacts are, and the campaigns that send to them.
import { get, is, list, newKey, patch, post, schemaOf, tags } from '../api.js';
import { confirm, form } from '../components/dialog.js';
import { field, knownName, nameOf, resolveAll } from '../components/field.js';
import { filterBar, sentence } from '../components/filter.js';
import { button, empty, failed, heading, selected, status, toast } from '../components/parts.js';
import { column, Table } from '../components/table.js';
import { html } from '../dom.js';
import { body, encode, partsOf, selection } from '../query.js';
import { go, link, reload } from '../router.js';
import { may, update } from '../state.js';
import { number, plural } from '../text.js';
import { deleteUsed } from '../uses.js';
import { withTags } from './entities.js';
import { openHistory } from './history.js';
import { deleted } from './undo.js';

/** The fields of contacts, with the names of tags. */
const contactFields = async () => withTags(await schemaOf('contacts'), await tags()).fields;

/** The filters of a view as the API takes them. @param {Partial<View>} view @returns {any[]} */
const filtersOf = (view) => selection(view).filters || [];

/** How many contacts match a view. @param {Partial<View>} view @returns {Promise<number>} */
const total = async (view) =>
  (await list('/v1/contacts/list', body(view, 1, 1))).pagination.total_count;

/** Makes an audience, of those who match a view if there is one. @param {Partial<View>} [view] */
export async function createAudience(view) {
  const fields = await contactFields();
  const start = { q: view?.q || '', rules: view?.rules || [], where: view?.where || null };
  let counted = '';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const count = (/** @type {FormState} */ state) => {
    // who matches, after each change
    const wanted = { ...state.values.view, q: state.values.q || '' };
    if (state.values.type !== 'dynamic' || counted === JSON.stringify(wanted)) return;
    counted = JSON.stringify(wanted);
    clearTimeout(timer);
    timer = setTimeout(async () => state.set('n', await total(wanted)), 250);
  };
  const made = await form(
    {
      title: 'New audience',
      action: 'Create',
      body: (state) =>
        html`${count(state)}${field(state, { name: 'name', required: true })}
        ${field(state, {
          name: 'type',
          label: 'Contacts',
          required: true,
          options: [
            { value: 'static', label: 'Those that you add' },
            { value: 'dynamic', label: 'Whoever matches filters, at any moment' },
          ],
        })}
        ${
          state.values.type === 'dynamic' &&
          html`${field(state, { name: 'q', label: 'Search text' })}${filterBar({
              entity: 'contacts',
              view: () => state.values.view,
              fields,
              onChange: (rules, where) => state.set('view', { rules, where }),
            })}
            <p class="soft" role="status">
              ${
                state.values.n === undefined
                  ? 'Counting…'
                  : plural(state.values.n, '{n} contact matches now.', '{n} contacts match now.')
              }
            </p>`
        }`,
      submit: ({ values: { name, type, q, view: v }, key }) =>
        post(
          '/v1/audiences',
          type === 'dynamic'
            ? { name, type, filters: filtersOf(v), search: q || '' }
            : { name, contact_ids: [] },
          { key },
        ),
    },
    { type: view ? 'dynamic' : 'static', q: start.q, view: start },
  );
  if (made) await go(`/audiences/${made.id}`);
}

/** @type {PageModule} */
export const audiencePage = {
  title: (model) => model.audience.name,
  async load({ args, search, row }, signal, previous) {
    const path = `/v1/audiences/${args.id}`;
    const [audience, campaigns, fields] = await Promise.all([
      get(path, { signal }),
      list(
        '/v1/campaigns/list',
        { page_size: 500, sort: 'name', filters: [is('audiences', args.id)] },
        { signal },
      ),
      contactFields(),
    ]);
    const model = Object.assign(previous || {}, {
      path,
      audience,
      fields,
      isDynamic: audience.type === 'dynamic',
      q: search.get('q') || '',
      campaigns: campaigns.data,
    });
    model.table ??= members(model);
    void model.table.refresh({ first: row }).catch(() => {});
    return model;
  },
  view: audienceView,
  close: (model) => model.table.close(),
  keys: (model) => ({
    '/': () => document.getElementById('search')?.focus(),
    ...model.table.keys((/** @type {Item} */ c) => void go(`/contacts/${c.id}`)),
  }),
};

/** @param {Item} model */
function members(model) {
  const table = new Table({
    label: 'Contacts',
    href: (c) => link(`/contacts/${c.id}`),
    selectable: may('write') && !model.isDynamic,
    onSelect: update,
    fetch: (page, page_size, signal) =>
      list(
        `${model.path}/contacts/list`,
        { page, page_size, ...(model.q ? { search: model.q } : {}) },
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
      model.q || model.isDynamic
        ? empty('No contact matches.')
        : empty(
            'The audience is empty. Select contacts in their list and add them.',
            html`<a class="button primary" href=${link('/contacts')}>Contacts</a>`,
          ),
  });
  return table;
}

/** @param {Item} model */
function audienceView(model) {
  const { audience: a, table, campaigns } = model;
  return html`<div class="page list-page">
    ${heading({
      up: ['/audiences', 'Audiences'],
      title: html`${a.name} <span class="soft">${number(a.contact_count)}</span>`,
      actions:
        may('write') &&
        html` ${button('History', () =>
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
        (/** @type {Item} */ c) =>
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

/**
 * Who is in a dynamic audience. Changes wait until they are saved, because campaigns act on them at
 * once.
 * @param {Item} model
 */
function rulesOf(model) {
  const { audience: a, fields, draft } = model;
  const saved = { q: a.search || '', ...partsOf(a.filters) };
  const view = draft || saved;
  const change = async (/** @type {Partial<View>} */ part) => {
    const next = { ...view, ...part };
    Object.assign(model, { draft: next, counts: null, isDirty: true });
    update();
    const [now, then, both] = await Promise.all(
      [saved, next, { q: saved.q, rules: [...filtersOf(saved), ...filtersOf(next)] }].map(total),
    ); // a search can only be removed
    if (model.draft === next)
      model.counts = {
        now,
        then,
        come: then - both,
        leave: now - both,
      };
    update();
  };
  return html`<section class="section">
    <p>
      Whoever matches is in this audience, at any moment. Running campaigns write to those who come
      in.
    </p>
    <div class="toolbar">
      ${
        may('write')
          ? html`${
              view.q &&
              html`<span class="chip on"
                >“${view.q}”
                <button
                  type="button"
                  aria-label=${`Remove: ${view.q}`}
                  @click=${() => change({ q: '' }).catch(failed)}
                >
                  ×
                </button></span
              >`
            }
            ${filterBar({
              entity: 'contacts',
              view: () => view,
              fields,
              onChange: (rules, where) => void change({ rules, where }).catch(failed),
            })}`
          : [view.q, ...filtersOf(view).map((rule) => sentence(rule, fields))]
              .filter(Boolean)
              .join(' · ')
      }
    </div>
    ${draft && unsaved(model)}
  </section>`;
}

/** What a change of the filters does, which is not saved. @param {Item} model */
function unsaved(model) {
  const { draft, counts } = model;
  return html`<div class="notice warn">
    <p role="status">
      ${
        counts
          ? `Not saved. ${number(counts.now)} match now, ${number(counts.then)} with your ` +
            `change: ${number(counts.come)} come in, ${number(counts.leave)} leave.`
          : 'Counting…'
      }
      <a href=${link(`/contacts${encode(draft)}`)} target="_blank">Show them</a>
    </p>
    <p class="buttons">
      ${counts && button('Save', () => saveRules(model), 'primary')}${button('Discard', () => {
        drop(model);
        update();
      })}
    </p>
  </div>`;
}

/** Forgets changes of the filters. @param {Item} model */
const drop = (model) => Object.assign(model, { draft: null, isDirty: false });

/** Saves the filters, after a question if campaigns act on them. @param {Item} model */
async function saveRules(model) {
  const { path, audience, draft, counts } = model;
  const names = model.campaigns
    .filter((/** @type {Item} */ c) => /^(active|paused)$/.test(c.status))
    .map(nameOf)
    .join(', ');
  if (
    names &&
    !(await confirm({
      title: `Change who is in ${audience.name}?`,
      danger: true,
      action: `Save: ${number(counts.come)} come in, ${number(counts.leave)} leave`,
      text:
        'These campaigns write to those who come in, and stop for those who leave: ' +
        `${names}. Whoever is stopped does not go on after coming back.`,
    }))
  )
    return;
  await patch(path, { filters: filtersOf(draft), search: draft.q });
  drop(model);
  await reload();
}

/** @param {Item} model */
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

/** @param {Item} model @param {string} value */
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

/** @param {Item} model */
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

/** @param {Item} model */
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
