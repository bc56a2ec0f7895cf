// @ts-check
// What can be done with the records of a list.
import { ApiError, is, list, newKey, patch, post, remove } from '../api.js';
import { confirm, form } from '../components/dialog.js';
import { field, optionsOf } from '../components/field.js';
import { allowedValues, guessReference } from '../components/filter.js';
import { toast } from '../components/parts.js';
import { html } from '../dom.js';
import { fromInput } from '../format.js';
import { body, selection } from '../query.js';
import { go } from '../router.js';
import { update } from '../state.js';
import { number, t, tn } from '../text.js';

/** @typedef {import('./list.js').ListModel} ListModel */

/** The values of a form that were filled in. @param {Item} values */
export const filled = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== ''));

/** The input of a field of the schema. @param {FormState} state @param {Field} f */
function schemaField(state, f) {
  const allowed = allowedValues(f);
  return field(state, {
    name: f.key, label: f.label, type: f.type, options: allowed.length ? optionsOf(allowed) : undefined,
    reference: f.type === 'reference' ? f.reference || guessReference(f.key) : null, rows: f.key === 'notes' ? 4 : undefined,
  });
}

/** @param {ListModel} model */
export async function create({ kind, schema }) {
  if (kind.entity === 'campaigns') return (await import('./campaigns.js')).create();
  if (kind.entity === 'sequence-templates') return go('/templates/new');
  const fields = (kind.create || []).map((key) => schema.fields.find((f) => f.key === key)).filter((f) => f !== undefined);
  const made = await form({
    title: t('New {kind}', { kind: kind.one }), action: t('Create'),
    body: (state) => html`<div class="columns">${fields.map((f) => schemaField(state, f))}</div>`,
    submit: ({ values, key }) => post(`/v1/${kind.entity}`, { ...Object.fromEntries(Object.entries(filled(values)).map(([name, value]) => [name, schema.fields.find((f) => f.key === name)?.type === 'datetime' ? fromInput(value) : value])), ...(kind.entity === 'audiences' ? { contact_ids: [] } : {}) }, { key }),
  });
  if (made) void go(`${kind.path}/${made.id}`);
}

/** Changes each selected record. @param {ListModel} model @param {string} title @param {(id: string) => Promise<unknown>} act @param {(id: string) => Promise<unknown>} [undo] */
async function each(model, title, act, undo) {
  const ids = [...model.table.selected];
  const results = await Promise.allSettled(ids.map(act));
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.message] : []));
  await model.refresh();
  if (failures.length) return toast(t('{n} could not be changed: {why}', { n: failures.length, why: failures[0] }), { bad: true });
  toast(title, { undo: undo && (async () => { await Promise.allSettled(ids.map(undo)); await model.refresh(); }) });
}

/** @type {Record<string, (model: ListModel) => unknown>} */
export const actions = {
  done: (model) => each(model, tn(model.count, '{n} task done', '{n} tasks done'), (id) => patch(`/v1/tasks/${id}`, { status: 'completed' }), (id) => patch(`/v1/tasks/${id}`, { status: 'open' })),

  async delete(model) {
    const { kind, count: n } = model;
    const action = tn(n, 'Delete {n} {kind}', 'Delete {n} {title}', { kind: kind.one, title: kind.title.toLowerCase() });
    if (await confirm({ title: `${action}?`, text: t('This cannot be undone.'), action, danger: true, count: n })) {
      await each(model, tn(n, '{n} deleted', '{n} deleted'), (id) => remove(`/v1/${kind.entity}/${id}`));
    }
  },

  async tag(model) {
    const { entity } = model.kind;
    const usable = model.tags();
    const chosen = await form({
      title: tn(model.count, 'Tag {n} record', 'Tag {n} records'), action: t('Add the tag'),
      body: (state) => field(state, { name: 'tag', label: t('Tag'), required: true, options: usable.map((tag) => ({ value: tag.id, label: tag.name })), help: usable.length ? '' : t('Create a tag in the settings first.') }),
      submit: async (state) => state.values.tag,
    }, { tag: usable[0]?.id });
    if (!chosen) return;
    const before = new Map(model.table.records().map((record) => [record.id, record.tags || []]));
    const set = (/** @type {string} */ id, /** @type {string[]} */ all) => patch(`/v1/${entity}/${id}`, { tags: [...new Set(all)] });
    await each(model, tn(model.count, '{n} tagged', '{n} tagged'), (id) => set(id, [...(before.get(id) || []), chosen]), (id) => set(id, before.get(id) || []));
  },

  async audience(model) {
    const audiences = await all('/v1/audiences/list', 'active');
    const done = await form({
      title: tn(model.count, 'Add {n} contact to an audience', 'Add {n} contacts to an audience'), action: t('Add {n}', { n: number(model.count) }),
      body: (state) => html`${field(state, { name: 'audience', label: t('Audience'), options: audiences.map((a) => ({ value: a.id, label: a.name })) })}
        ${field(state, { name: 'name', label: t('Or the name of a new audience') })}`,
      submit: async ({ values, key }) => {
        if (!values.name && !values.audience) throw new Error(t('Choose an audience or name a new one.'));
        return addTo(values.audience || (await post('/v1/audiences', { name: values.name, contact_ids: [] }, { key })).id, model);
      },
    });
    if (done) finish(model, tn(done.added, '{n} contact added', '{n} contacts added'));
  },

  async campaign(model) {
    const campaigns = (await all('/v1/campaigns/list')).filter((c) => c.status !== 'completed');
    if (campaigns.length === 0) return toast(t('There is no campaign yet. Add the contacts to an audience, and create a campaign for it.'));
    const done = await form({
      title: tn(model.count, 'Add {n} contact to a campaign', 'Add {n} contacts to a campaign'), action: t('Add {n}', { n: number(model.count) }),
      body: (state) => html`${field(state, { name: 'campaign', label: t('Campaign'), required: true, options: campaigns.map((c) => ({ value: c.id, label: `${c.name} (${c.status})` })),
        help: campaigns.find((c) => c.id === state.values.campaign)?.status === 'active' ? t('This campaign is running: their first steps happen as soon as they are due.') : '' })}
        ${field(state, { name: 'name', label: t('Name of the new audience'), required: true, help: t('The contacts come in as an audience of the campaign.') })}`,
      submit: async ({ values, key }) => {
        if (!values.campaign) throw new Error(t('Choose a campaign.'));
        const audience = await post('/v1/audiences', { name: values.name, contact_ids: [] }, { key });
        const added = await addTo(audience.id, model);
        await post(`/v1/campaigns/${values.campaign}/audiences/add`, { audience_ids: [audience.id] }, { key: newKey() });
        return { ...added, campaign: values.campaign };
      },
    }, { campaign: campaigns.find((c) => c.status !== 'active')?.id, name: t('{filter}, {day}', { filter: model.view.q || t('Contacts'), day: new Date().toISOString().slice(0, 16).replace('T', ' ') }) });
    if (!done) return;
    finish(model, tn(done.added, '{n} contact added to the campaign', '{n} contacts added to the campaign'));
    void go(`/campaigns/${done.campaign}`);
  },
};

/** @param {ListModel} model */
export async function saveView(model) {
  const { view, kind, table } = model;
  const saved = await form({
    title: t('Save this view'), action: t('Save'), body: (state) => field(state, { name: 'name', label: t('Name'), required: true }),
    submit: ({ values, key }) => post('/v1/views', {
      entity: kind.entity, name: values.name, filtering_rules: selection(view).filters || [], searching_rule: view.q ? { value: view.q } : null,
      sort: view.sort || null, columns: table.options.columns.map((c) => c.key),
    }, { key }),
  });
  if (!saved) return;
  toast(t('The view {name} is saved', { name: saved.name }));
  await model.loadViews();
}

/** @param {ListModel} model @param {Item} v */
export async function deleteView(model, v) {
  await remove(`/v1/views/${v.id}`);
  toast(t('The view {name} is deleted', { name: v.name }), { undo: async () => {
    const { id, created_at, updated_at, ...content } = v;
    await post('/v1/views', content);
    await model.loadViews();
  } });
  await model.loadViews();
}

/** @param {string} path @param {string} [only] a status */
async function all(path, only) {
  return (await list(path, { page_size: 500, sort: 'name', ...(only ? { filters: [is('status', only)] } : {}) })).data;
}

/** Adds the selection to an audience, by ids or by the query on screen. @param {string} audience @param {ListModel} model */
async function addTo(audience, model) {
  if (model.isEverything) { // the number on the button is the number of records that change
    const now = (await list(model.kind.list, body(model.view, 1, 1))).pagination.total_count;
    if (now !== model.table.total) throw new ApiError(409, 'conflict', t('{now} contacts match by now, not {then}. Nothing was added.', { now: number(now), then: number(model.table.total) }), [], 0);
  }
  const which = model.isEverything ? { search: '', filters: [], ...selection(model.view) } : { contact_ids: [...model.table.selected] };
  const count = model.count;
  const result = await post(`/v1/audiences/${audience}/contacts/add`, which, { key: newKey() });
  return { added: result?.added ?? count };
}

/** @param {ListModel} model @param {string} message */
function finish(model, message) {
  model.table.clearSelection();
  model.isEverything = false;
  toast(message);
  update();
}

/** @param {ListModel} model */
export async function exportCSV(model) {
  const answer = await fetch(`/v1/${model.kind.entity}/export`, {
    method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Prospector-Console': '1' }, body: JSON.stringify({ ...selection(model.view), format: 'csv' }),
  });
  if (!answer.ok) return toast(t('The export failed.'), { bad: true });
  const url = URL.createObjectURL(await answer.blob());
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = `${model.kind.entity}.csv`;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
