// @ts-check
// An audience: its contacts and the campaigns that send to them.
import { get, list, newKey, patch, post, remove } from '../api.js';
import { confirm, form } from '../components/dialog.js';
import { field, knownName, nameOf, resolveAll } from '../components/field.js';
import { button, empty, heading, status } from '../components/parts.js';
import { column, Table } from '../components/table.js';
import { toast } from '../components/toast.js';
import { html } from '../dom.js';
import { go, link, reload } from '../router.js';
import { may, update } from '../state.js';
import { number, t, tn } from '../text.js';

/** @type {PageModule} */
const audiencePage = {
  title: (model) => model.audience.name,
  async load({ args, search }, signal, previous) {
    const path = `/v1/audiences/${args.id}`;
    const [audience, campaigns] = await Promise.all([get(path, { signal }), list('/v1/campaigns/list', { page_size: 500, sort: 'name' }, { signal })]);
    const model = Object.assign(previous || {}, {
      path, audience, q: search.get('q') || '',
      campaigns: campaigns.data.filter((c) => c.audiences.some((/** @type {Item} */ a) => a.id === args.id)),
    });
    model.table ??= members(model);
    void model.table.refresh().catch(() => {});
    return model;
  },
  view, close: (model) => model.table.close(),
  keys: (model) => ({ '/': () => document.getElementById('search')?.focus(), ...model.table.keys((/** @type {Item} */ c) => void go(`/contacts/${c.id}`)) }),
};
export default audiencePage;

/** @param {Item} model */
function members(model) {
  const table = new Table({
    label: t('Contacts'), href: (c) => link(`/contacts/${c.id}`), selectable: may('write'), onSelect: update,
    fetch: (page, page_size, signal) => list(`${model.path}/contacts/list`, { page, page_size, ...(model.q ? { search: model.q } : {}) }, { signal }),
    columns: [column('name', t('Name'), 220, nameOf), column('title', t('Title'), 220, (c) => c.title), column('account_id', t('Account'), 200, (c) => knownName(c.account_id)), column('email', t('Email'), 260, (c) => c.email),
      column('state', t('Status'), 160, (c) => c.do_not_contact && status('stopped', t('opted out')))],
    onLoad: async (page) => {
      await resolveAll('accounts', page.data.map((c) => c.account_id)).catch(() => {});
      table.draw();
    },
    empty: () => (model.q ? empty(t('No contact matches.')) : empty(t('The audience is empty. Select contacts in their list and add them.'), html`<a class="button primary" href=${link('/contacts')}>${t('Contacts')}</a>`)),
  });
  return table;
}

/** @param {Item} model */
function view(model) {
  const { audience: a, table, campaigns } = model;
  return html`<div class="page list-page">
    ${heading({ up: ['/audiences', t('Audiences')], title: html`${a.name} <span class="soft">${number(a.contact_count)}</span>`, actions: may('write') && html`
      ${button(t('Rename…'), () => rename(model))}${button(a.status === 'active' ? t('Archive') : t('Activate'), () => set(model, a.status === 'active' ? 'archived' : 'active'))}
      ${button(t('Delete…'), () => deleteAudience(model), 'danger')}` })}
    <p class="chips"><span class="soft">${campaigns.length ? t('Campaigns:') : t('No campaign sends to this audience.')}</span>
      ${campaigns.map((/** @type {Item} */ c) => html`<a class="chip" href=${link(`/campaigns/${c.id}`)} dir="auto">${status(c.held ? 'held' : c.status, c.name)}</a>`)}</p>
    <div class="toolbar"><input id="search" class="search" type="search" aria-label=${t('Search contacts')} placeholder=${`${t('Search contacts')}  /`} dir="auto" .value=${model.q}
      @input=${(e) => { model.q = e.target.value; void table.refresh({ first: 0 }).catch(() => {}); }}></div>
    ${table.element}
    ${table.selected.size > 0 && html`<div class="notice selection"><strong>${t('{n} selected', { n: number(table.selected.size) })}</strong>${button(tn(table.selected.size, 'Remove {n} from the audience', 'Remove {n} from the audience'), () => removeMembers(model))}</div>`}
  </div>`;
}

/** @param {Item} model */
async function removeMembers({ path, table }) {
  const contact_ids = [...table.selected];
  table.clearSelection();
  await post(`${path}/contacts/remove`, { contact_ids }, { key: newKey() });
  toast(tn(contact_ids.length, '{n} contact removed', '{n} contacts removed'), { undo: async () => { await post(`${path}/contacts/add`, { contact_ids }, { key: newKey() }); await reload(); } });
  await reload();
}

/** @param {Item} model @param {string} value */
async function set({ path, audience }, value) {
  await patch(path, { status: value });
  toast(t('The audience is {status}', { status: value }), { undo: async () => { await patch(path, { status: audience.status }); await reload(); } });
  await reload();
}

/** @param {Item} model */
async function rename({ path, audience }) {
  if (await form({ title: t('Rename the audience'), action: t('Save'), body: (state) => field(state, { name: 'name', label: t('Name'), required: true }), submit: ({ values }) => patch(path, values) }, { name: audience.name })) await reload();
}

/** @param {Item} model */
async function deleteAudience({ path, audience }) {
  if (!await confirm({ title: t('Delete {name}?', { name: audience.name }), text: t('The contacts stay. This cannot be undone.'), action: t('Delete the audience'), danger: true })) return;
  await remove(path);
  await go('/audiences');
}
