// @ts-check
// What can be done with a campaign as a whole.
import { is, list, newKey, patch, post, remove } from '../api.js';
import { confirm, form } from '../components/dialog.js';
import { field, optionsOf } from '../components/field.js';
import { toast } from '../components/parts.js';
import { html } from '../dom.js';
import { go, reload } from '../router.js';
import { session } from '../state.js';
import { number, plural } from '../text.js';
import { deleted } from './undo.js';

/** @typedef {import('./campaigns.js').Model} Model */

/**
 * The path of the campaign.
 * @param {Model} model
 * @returns {`/v1/campaigns/${string}`}
 */
export const at = (model) => `/v1/campaigns/${model.campaign.id}`;

/**
 * The choices of a field.
 * @param {{id: string, name: string, contact_count?: number}[]} items
 */
export const options = (items) =>
  items.map(({ id, name, contact_count: n }) => ({
    value: id,
    label: n === undefined ? name : `${name} (${number(n)})`,
  }));

/** The audiences that a campaign can have. */
export const activeAudiences = async () =>
  (
    await list('/v1/audiences/list', {
      page_size: 500,
      sort: 'name',
      filters: [is('status', 'active')],
    })
  ).data;

/** Asks for the template and the audience of a new campaign. */
export async function createCampaign() {
  const [templates, people] = await Promise.all([
    list('/v1/sequence-templates/list', { page_size: 500, sort: 'name' }),
    activeAudiences(),
  ]);
  const made = await form(
    {
      title: 'New campaign',
      action: 'Create draft',
      body: (state) => newCampaignFields(state, templates.data, people),
      submit: ({ values, key }) => {
        const audience_ids = [values.audience_ids].filter(Boolean);
        return post(
          '/v1/campaigns',
          { ...values, audience_ids, owner_id: session.me?.user_id },
          { key },
        );
      },
    },
    { template_id: templates.data[0]?.id, audience_ids: people[0]?.id, missing_values: 'hold' },
  );
  if (made) void go(`/campaigns/${made.id}`);
}

/**
 * @param {FormState} state
 * @param {API['Template'][]} templates
 * @param {API['Audience'][]} people
 */
function newCampaignFields(state, templates, people) {
  return html`${field(state, { name: 'name', required: true })}
    ${field(state, {
      name: 'template_id',
      label: 'Template',
      required: true,
      options: options(templates),
      help: templates.length ? '' : 'Write a template first.',
    })}
    ${field(state, {
      name: 'audience_ids',
      label: 'Audience',
      required: true,
      options: options(people),
      help: people.length ? '' : 'Make an audience from the contacts first.',
    })}
    ${field(state, {
      name: 'missing_values',
      label: 'If a value in the text is missing',
      required: true,
      options: optionsOf(['hold', 'send', 'skip']),
    })}
    <p class="soft">Nothing is sent until you press Start.</p>`;
}

/** @param {Model} model @param {string} value */
export async function setStatus(model, value) {
  const before = model.campaign.status;
  await patch(at(model), { status: value });
  const undo = async () => {
    await patch(at(model), { status: before });
    await reload();
  };
  const text = value === 'active' ? 'The campaign has started' : `The campaign is ${value}`;
  toast(text, { undo: before === 'active' && value === 'paused' ? undo : undefined });
  model.plan = null;
  await reload();
}

/** How the messages of a campaign leave. @param {string | null} transport */
export function transportOf(transport) {
  if (transport === 'outbox') return 'captured in the outbox, nothing leaves this server';
  return transport ? `sent through ${transport.toUpperCase()}` : '';
}

/** @param {Model} model */
export async function addAudience(model) {
  const attached = model.campaign.audiences.map((a) => a.id);
  const others = (await activeAudiences()).filter((a) => !attached.includes(a.id));
  const help = others.length
    ? 'Contacts can also be added from their list.'
    : 'All audiences are in the campaign.';
  const done = await form(
    {
      title: 'Add people',
      action: 'Add the audience',
      body: (state) =>
        field(state, { name: 'audience', required: true, options: options(others), help }),
      submit: ({ values, key }) => {
        const audience_ids = [values.audience].filter(Boolean);
        return post(`${at(model)}/audiences/add`, { audience_ids }, { key });
      },
    },
    { audience: others[0]?.id },
  );
  model.plan = null;
  if (done) await reload();
}

/** @param {Model} model */
export async function retry(model) {
  const { queued: n } = await post(`${at(model)}/retry`, { status: ['failed'], dry_run: true });
  if (n === 0) {
    return toast(
      'Nobody knows whether these messages arrived. They are not sent again, so that nobody gets one twice.',
    );
  }
  const title = plural(n, 'Try {n} message again?', 'Try {n} messages again?');
  if (!(await confirm({ title, action: plural(n, 'Send {n} message', 'Send {n} messages') })))
    return;
  await post(`${at(model)}/retry`, { status: ['failed'] }, { key: newKey() });
  await reload();
}

/** @param {Model} model */
export async function deleteCampaign(model) {
  const title = `Delete ${model.campaign.name}?`;
  const text = 'You can restore it with its people and messages from the trash for 30 days.';
  if (!(await confirm({ title, text, action: 'Delete the campaign', danger: true }))) return;
  await remove(at(model));
  await go('/campaigns');
  deleted(model.campaign.name, at(model), `/campaigns/${model.campaign.id}`);
}

/** Changes the name and the sender. @param {Model} model */
export async function editCampaign(model) {
  const { campaign: c } = model;
  const done = await form(
    {
      title: 'Change the campaign',
      action: 'Save',
      body: (state) =>
        html`${field(state, { name: 'name', required: true })}
        ${field(state, {
          name: 'owner_id',
          label: 'Sender',
          type: 'reference',
          reference: 'users',
          help: 'Later emails come from the new sender, in a new conversation.',
        })}
        ${field(state, {
          name: 'missing_values',
          label: 'If a value in the text is missing',
          required: true,
          options: optionsOf(['hold', 'send', 'skip']),
        })}
        ${field(state, {
          name: 'admit',
          label: 'If one change brings many people',
          required: true,
          options: [
            { value: 'ask', label: 'ask before they get anything' },
            { value: 'automatic', label: 'start at once' },
          ],
        })}`,
      submit: ({ values }) => patch(at(model), values),
    },
    { name: c.name, owner_id: c.owner_id, missing_values: c.missing_values, admit: c.admit },
  );
  if (done) await reload();
}

/** Starts the sequences of the newcomers, as many as the dialog says. @param {Model} model */
export async function admit(model) {
  const { newcomers: n, name, status } = model.campaign;
  const title = plural(n, 'Admit {n} person to {name}?', 'Admit {n} people to {name}?', { name });
  const text =
    status === 'active'
      ? 'Their first step is planned at once. Those who have opted out get nothing.'
      : 'Their first step is planned when the campaign goes on.';
  const action = plural(n, 'Admit {n} person', 'Admit {n} people');
  if (!(await confirm({ title, text, action }))) return;
  await post(`${at(model)}/admit`, { expect: n });
  await reload();
}

/** Ends a campaign. @param {Model} model @param {'completed' | 'archived'} value */
export async function end(model, value) {
  const { campaign: c, stats } = model;
  const isArchive = value === 'archived';
  const text =
    stats.active > 0
      ? plural(
          stats.active,
          '{n} person who is still active gets nothing more.',
          '{n} people who are still active get nothing more.',
        )
      : 'Nobody is active in it.';
  const title = isArchive ? `Archive ${c.name}?` : `Complete ${c.name}?`;
  const action = isArchive ? 'Archive the campaign' : 'Complete the campaign';
  if (await confirm({ title, text, action, danger: stats.active > 0 }))
    await setStatus(model, value);
}
