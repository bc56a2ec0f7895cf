// @ts-check
// The parts of the settings that are lists of records, and what can be done with these.
import { getPage, list, patch, post, remove } from '../api.js';
import { form } from '../components/dialog.js';
import { field, optionsOf, typeFields } from '../components/field.js';
import { button, soft, status, when } from '../components/parts.js';
import { html } from '../dom.js';
import { because, dateTime, words } from '../format.js';
import { link, reload } from '../router.js';
import { may } from '../state.js';
import { asked, askedUsed, deletion, done, showOnce } from './settings_questions.js';

/**
 * A part of the settings that is a list of records, which have the type R. made is what follows the
 * creation of one, of which the service may say more, such as its secret.
 * @template R
 * @template [N=R]
 * @typedef {{
 *   one: string,
 *   empty: string,
 *   load: (signal: AbortSignal) => Promise<R[]>,
 *   admin?: boolean,
 *   columns: [string, (item: R) => unknown][],
 *   fields?: FieldOptions[],
 *   defaults?: Values,
 *   path: string,
 *   made?: (item: N) => unknown,
 *   actions?: (item: R) => unknown,
 * }} Part
 */

const all = { page_size: 500 };

const accesses = optionsOf(['read', 'write', 'admin']);

/** @type {Part<API['User']>} */
export const users = {
  one: 'user',
  empty: '',
  admin: true,
  load: async (signal) => (await getPage('/v1/users', { signal })).data,
  path: '/v1/users',
  columns: [
    ['Name', (u) => [u.first_name, u.last_name].filter(Boolean).join(' ') || u.email],
    ['Email', (u) => u.email],
    ['Access', (u) => words(u.access)],
    ['Status', (u) => status(u.active ? 'active' : 'disabled')],
    ['Last seen', (u) => when(u.last_seen_at)],
  ],
  fields: [
    { name: 'email', type: 'email', required: true },
    { name: 'first_name' },
    { name: 'last_name' },
    { name: 'access', required: true, options: accesses },
  ],
  defaults: { access: 'write' },
  made: (u) => invite(u),
  actions: (u) =>
    may('admin') &&
    html`${button('Change…', () => changeUser(u))}${u.active && button('Invite', () => invite(u))}${
      u.active
        ? button(
            'Deactivate…',
            askedUsed({
              path: `/v1/users/${u.id}`,
              title: `Deactivate ${u.email}?`,
              text: 'They cannot sign in any more, and their campaigns are held.',
              action: 'Deactivate',
              act: () => post(`/v1/users/${u.id}/deactivate`, {}),
            }),
            'danger',
          )
        : button(
            'Activate',
            done(() => post(`/v1/users/${u.id}/activate`, {})),
          )
    }`,
};

/** @type {Part<API['Key'], API['NewKey']>} */
export const keys = {
  one: 'API key',
  empty: 'No API keys. An integration needs one.',
  admin: true,
  load: async (signal) => (await getPage('/v1/api-keys', { signal })).data,
  path: '/v1/api-keys',
  columns: [
    ['Name', (k) => k.name],
    ['Access', (k) => words(k.access)],
    ['Status', (k) => status(k.active ? 'active' : 'disabled')],
    ['Last used', (k) => when(k.last_used_at)],
  ],
  fields: [
    { name: 'name', required: true },
    { name: 'access', required: true, options: accesses },
  ],
  defaults: { access: 'write' },
  made: (k) => showOnce('The new API key', k.key ?? '', 'It is shown only once.'),
  actions: (k) =>
    may('admin') &&
    k.active &&
    button(
      'Deactivate…',
      asked(`Deactivate the key “${k.name}” for ever?`, 'Deactivate', () =>
        post(`/v1/api-keys/${k.id}/deactivate`, {}),
      ),
      'danger',
    ),
};

/** @type {Part<API['Field']>} */
export const fields = {
  one: 'field',
  empty: 'No custom fields yet.',
  load: async (signal) => (await getPage('/v1/fields', { signal })).data,
  path: '/v1/fields',
  columns: [
    ['Label', (f) => f.label],
    ['Of', (f) => words(f.entity)],
    ['Key', (f) => f.key],
    ['Type', (f) => words(f.data_type)],
  ],
  fields: [
    {
      name: 'entity',
      label: 'Of',
      required: true,
      options: optionsOf(['contacts', 'accounts', 'opportunities', 'tasks', 'meetings']),
    },
    { name: 'key', required: true, help: 'small letters, digits and underscores' },
    { name: 'label' },
    ...typeFields,
    {
      name: 'personal',
      label: 'Personal',
      type: 'boolean',
      help: 'values may tell something about a person, so that an erasure lists them',
    },
    {
      name: 'ai.question',
      label: 'Question',
      help: 'only of accounts: research for a market fills the field with the answer',
    },
    {
      name: 'ai.field',
      label: 'Answered by',
      help: 'the field of companies that has the answer, such as technologies; without one it takes a model',
    },
  ],
  defaults: { entity: 'contacts', data_type: 'text', personal: true },
  actions: (f) =>
    may('admin') &&
    button(
      'Delete…',
      deletion(f.label, {
        path: `/v1/fields/${f.id}`,
        title: `Delete the field “${f.label}” and its values?`,
        action: 'Delete the field',
      }),
      'danger',
    ),
};

/** @type {Part<API['Tag']>} */
export const tags = {
  one: 'tag',
  empty: 'No tags yet.',
  load: async (signal) => (await list('/v1/tags/list', all, { signal })).data,
  path: '/v1/tags',
  columns: [
    ['Name', (x) => html`<span class=${`tag ${x.color}`}>${x.name}</span>`],
    ['Of', (x) => words(x.object_type)],
  ],
  fields: [
    { name: 'name', required: true },
    {
      name: 'color',
      required: true,
      options: optionsOf(['green', 'blue', 'red', 'yellow', 'purple', 'berry', 'peach', 'gray']),
    },
    {
      name: 'object_type',
      label: 'Of',
      required: true,
      options: optionsOf(['contact', 'account', 'opportunity', 'task', 'meeting']),
    },
  ],
  defaults: { color: 'green', object_type: 'contact' },
  actions: (x) =>
    may('write') &&
    button(
      'Delete…',
      deletion(x.name, {
        path: `/v1/tags/${x.id}`,
        title: `Delete the tag “${x.name}” from all records?`,
        action: 'Delete the tag',
      }),
      'danger',
    ),
};

/** @type {Part<API['Suppression']>} */
export const suppressions = {
  one: 'suppression',
  empty: 'Nobody is suppressed.',
  load: async (signal) => (await list('/v1/suppressions/list', all, { signal })).data,
  path: '/v1/suppressions',
  columns: [
    ['Address or domain', (s) => s.email || s.domain || soft('an erased person')],
    ['Reason', (s) => because(s.reason)],
    ['Since', (s) => when(s.created_at)],
  ],
  fields: [{ name: 'email' }, { name: 'domain', label: 'Or a domain' }, { name: 'reason' }],
  actions: (s) =>
    may('admin') &&
    button(
      'Remove…',
      asked(
        s.email || s.domain
          ? `Allow messages to ${s.email || s.domain} again? Running campaigns that have not ` +
              'begun begin at once. Where they have stopped, Restart people… of the campaign continues.'
          : 'Forget that a person was erased? Whoever it was can be imported and written to again.',
        'Remove',
        () => remove(`/v1/suppressions/${s.id}`),
      ),
      'danger',
    ),
};

/** @type {Part<API['Subscription'], API['NewSubscription']>} */
export const webhooks = {
  one: 'webhook',
  empty: 'No webhooks. Add an endpoint to hear about changes.',
  load: async (signal) => (await list('/v1/webhooks/subscriptions/list', all, { signal })).data,
  path: '/v1/webhooks/subscriptions',
  admin: true,
  columns: [
    ['Endpoint', (s) => html`<a href=${link(`/settings/webhooks/${s.id}`)}>${s.url}</a>`],
    ['Events', (s) => s.triggers.join(', ')],
    ['Status', (s) => status(s.status)],
  ],
  fields: [
    {
      name: 'url',
      label: 'Endpoint',
      type: 'url',
      required: true,
      placeholder: 'https://hooks.example.com/in',
    },
    {
      name: 'triggers',
      label: 'Events',
      required: true,
      help: 'with commas; * means all, contact.* those of contacts',
    },
  ],
  defaults: { triggers: '*' },
  made: (s) =>
    showOnce(
      'The secret of the webhook',
      s.secret ?? '',
      'It signs the deliveries and is shown only once.',
    ),
};

/** @param {API['User']} user */
async function changeUser({ id, ...user }) {
  const saved = await form(
    {
      title: user.email,
      action: 'Save',
      body: (state) =>
        [
          { name: 'first_name' },
          { name: 'last_name' },
          { name: 'access', required: true, options: accesses },
        ].map((f) => field(state, f)),
      submit: ({ values: { first_name, last_name, access } }) =>
        patch(`/v1/users/${id}`, { first_name, last_name, access }),
    },
    user,
  );
  if (saved) await reload();
}

/** @param {API['User']} user */
async function invite(user) {
  const made = await post(`/v1/users/${user.id}/invite`, {});
  await showOnce(
    `A link for ${user.email}`,
    made.url,
    `It works once, until ${dateTime(made.expires_at)}. Send it to them.`,
  );
}
