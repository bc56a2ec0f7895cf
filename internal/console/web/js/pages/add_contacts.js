// @ts-check
// Adding the contacts that are selected to an audience or a campaign.
import { ApiError, list, newKey, post, remove } from '../api.js';
import { form } from '../components/dialog.js';
import { field } from '../components/field.js';
import { toast } from '../components/parts.js';
import { html } from '../dom.js';
import { body, selection } from '../query.js';
import { go } from '../router.js';
import { update } from '../state.js';
import { number, plural } from '../text.js';
import { activeAudiences } from './campaign_actions.js';

/**
 * The records of a list that an action is about: those that are selected, or all that match.
 * @typedef {{
 *   kind: Entity,
 *   view: Partial<View>,
 *   count: number,
 *   isEverything: boolean,
 *   table: {selected: Set<string>, total: number, clearSelection: () => void},
 * }} Selection
 */

/** Adds contacts to an audience that there is or to a new one. @param {Selection} model */
export async function addToAudience(model) {
  const audiences = (await activeAudiences()).filter((a) => a.type !== 'dynamic');
  const done = await form({
    title: plural(model.count, 'Add {n} contact to an audience', 'Add {n} contacts to an audience'),
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
}

/** Adds contacts to a campaign, as a new audience. @param {Selection} model */
export async function addToCampaign(model) {
  const { data } = await list('/v1/campaigns/list', { page_size: 500, sort: 'name' });
  const campaigns = data.filter((c) => c.status !== 'completed');
  if (campaigns.length === 0)
    return toast(
      'There is no campaign yet. Add the contacts to an audience, and create a campaign for it.',
    );
  const done = await form(
    {
      title: plural(model.count, 'Add {n} contact to a campaign', 'Add {n} contacts to a campaign'),
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
        const path = /** @type {const} */ (`/v1/campaigns/${values.campaign}`);
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
}

/**
 * Adds the selection to a new audience, which does not stay if that or what follows fails.
 * @param {string} name
 * @param {string} key
 * @param {Selection} model
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
 * @param {Selection} model
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
 * Says how many contacts were added, and selects nothing more.
 * @param {Selection} model
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
