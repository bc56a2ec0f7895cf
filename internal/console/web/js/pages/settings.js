// @ts-check
// Settings: the organization, users, keys, fields, tags, suppressions, webhooks and one's own
// sessions.
import { ApiError, get, getPage, request } from '../api.js';
import { form } from '../components/dialog.js';
import { field } from '../components/field.js';
import { button, empty, heading, table, tabs } from '../components/parts.js';
import { html } from '../dom.js';
import { listOf } from '../format.js';
import { reload } from '../router.js';
import { may } from '../state.js';
import { sections } from './entities.js';
import { askErasure, erasureView, loadErasures } from './erasure.js';
import { loadMail, mailView } from './mail.js';
import { fields, keys, suppressions, tags, users, webhooks } from './settings_lists.js';
import { organization } from './settings_organization.js';
import { own } from './settings_sessions.js';
import { webhookView } from './settings_webhook.js';

/** @import {Part} from './settings_lists.js' */
/** @typedef {import('./settings_webhook.js').Webhook} Webhook */
/** @typedef {Parameters<typeof may>[0]} Access */

/**
 * @param {string} now
 * @param {unknown} content
 * @param {{needs: Access, show: unknown} | null} [action] what can be done, and the access that it needs
 * @param {string} [kind] of the page
 */
export const frame = (now, content, action, kind = '') =>
  html`<div class=${`page ${kind}`}>
    ${heading({ title: 'Settings', needs: action?.needs, actions: action?.show })}
    ${tabs(
      sections
        .filter(
          ([name]) =>
            (!['keys', 'erasure'].includes(name) || may('admin')) &&
            (name !== 'mail' || may('write')),
        )
        .map(([name, title]) => [title, `/settings/${name}`, name === now]),
    )}${content}
  </div>`;

/**
 * A part that is a list: reads its records, and returns a function that shows them.
 * @template R
 * @template N
 * @param {string} name
 * @param {Part<R, N>} part
 */
const listed = (name, part) => async (/** @type {AbortSignal} */ signal) => {
  const items = await part.load(signal);
  return () =>
    frame(
      name,
      items.length === 0
        ? empty(part.empty)
        : table(
            [...part.columns.map(([label]) => label), ''],
            items.map((item) => [
              ...part.columns.map(([, show]) => show(item)),
              html`<span class="buttons">${part.actions?.(item)}</span>`,
            ]),
          ),
      part.fields && {
        needs: part.admin ? 'admin' : 'write',
        show: button(newOf(part), () => create(part), 'primary'),
      },
    );
};

/**
 * The parts by name. Each reads what it shows and returns a function that shows it.
 * @type {Record<string, (signal: AbortSignal) => Promise<() => unknown>>}
 */
const parts = {
  async organization(signal) {
    const item = await get('/v1/organization', { signal });
    return () => frame('organization', organization(item));
  },
  async mail(signal) {
    const mail = await loadMail(signal);
    return () => frame('mail', mailView(mail));
  },
  async erasure(signal) {
    const operations = await loadErasures(signal);
    return () =>
      frame('erasure', erasureView(operations), {
        needs: 'admin',
        show: button('Erase a person…', askErasure, 'danger'),
      });
  },
  async me(signal) {
    const { data } = await getPage('/v1/sessions', { signal });
    return () => frame('me', own(data));
  },
  users: listed('users', users),
  keys: listed('keys', keys),
  fields: listed('fields', fields),
  tags: listed('tags', tags),
  suppressions: listed('suppressions', suppressions),
  webhooks: listed('webhooks', webhooks),
};

/** @type {PageModule<{view: () => unknown}>} */
export const settingsPage = {
  title: () => 'Settings',
  async load({ args }, signal) {
    const read = parts[args.part || 'organization'];
    if (!read) throw new ApiError(404, '', '');
    return { view: await read(signal) };
  },
  view: (model) => model.view(),
};

/** @param {{one: string}} part */
const newOf = (part) => `New ${part.one}`;

/**
 * Asks for a new record.
 * @template R
 * @template N
 * @param {Part<R, N>} part
 */
async function create(part) {
  const created = await form(
    {
      title: newOf(part),
      action: 'Create',
      body: (state) => (part.fields || []).map((f) => field(state, f)),
      submit: async ({ values, key }) => {
        const body = Object.fromEntries(
          Object.entries(values).filter(([, value]) => value !== null && value !== ''),
        );
        for (const name of ['triggers', 'allowed_values'])
          if (typeof body[name] === 'string') body[name] = listOf(body[name]);
        const { 'ai.question': question, 'ai.field': answering } = body;
        delete body['ai.question'];
        delete body['ai.field'];
        if (question || answering) body.ai = { question, field: answering };
        /** @type {Promise<{body: {data: N}}>} */
        const made = request('POST', part.path, body, { key });
        return (await made).body.data;
      },
    },
    part.defaults,
  );
  if (!created) return;
  await part.made?.(created);
  await reload();
}

/** @type {PageModule<Webhook>} */
export const webhookPage = {
  title: (model) => model.subscription.url,
  async load({ args, search }, signal) {
    const path = /** @type {const} */ (`/v1/webhooks/subscriptions/${args.id}`);
    const filter = search.get('status');
    const [subscription, attempts] = await Promise.all([
      get(path, { signal }),
      getPage(`${path}/deliveries?page_size=100${filter ? `&status=${filter}` : ''}`, { signal }),
    ]);
    return { path, subscription, attempts, filter };
  },
  view: webhookView,
};
