// @ts-check
// Settings: the organization, users, keys, fields, tags, suppressions, webhooks and one's own
// sessions.
import { ApiError, get, getPage, list, patch, post, remove } from '../api.js';
import { confirm, form, open } from '../components/dialog.js';
import { field, optionsOf, typeFields } from '../components/field.js';
import {
  button,
  copy,
  empty,
  failed,
  heading,
  pairs,
  soft,
  status,
  table,
  tabs,
  toast,
  when,
} from '../components/parts.js';
import { html } from '../dom.js';
import { because, dateTime, listOf, shortDay, words } from '../format.js';
import { go, link, reload } from '../router.js';
import { may, session } from '../state.js';
import { plural, why } from '../text.js';
import { deleteUsed } from '../uses.js';
import { sections } from './entities.js';
import { askErasure, erasureView, loadErasures } from './erasure.js';
import { loadMail, mailView } from './mail.js';
import { deleted } from './undo.js';

/**
 * A part of the settings that is a list of records.
 * @typedef {{
 *   one: string, empty: string, load: (signal: AbortSignal) => Promise<any[]>, admin?: boolean,
 * columns: [string, (item: any) => unknown][], fields?: FieldOptions[], defaults?: Record<string,
 * any>, path?: string, made?: (item: any) => unknown, actions?: (item: any) => unknown, }} Part
 */

/** @param {string} path @param {unknown} [body] */
const listed =
  (path, body = { page_size: 500 }) =>
  async (/** @type {AbortSignal} */ signal) =>
    (await list(path, body, { signal })).data;
/** @param {string} path */
const got = (path) => async (/** @type {AbortSignal} */ signal) =>
  (await getPage(path, { signal })).data;
const accesses = optionsOf(['read', 'write', 'admin']);

/**
 * Asks, then does something and shows the list again.
 * @param {string} title
 * @param {string} action
 * @param {() => Promise<unknown>} act
 */
const asked = (title, action, act) => async () => {
  if (await confirm({ title, action, danger: true })) {
    await act().catch(failed);
    await reload();
  }
};
/**
 * Asks with what hangs on a record, then deletes it and shows the list again.
 * @param {Parameters<typeof deleteUsed>[0]} question
 */
const askedUsed = (question) => async () => {
  if (await deleteUsed(question)) await reload();
};

/**
 * As askedUsed for a tag or a field, which can be restored.
 * @param {string} name
 * @param {Parameters<typeof deleteUsed>[0]} question
 */
const deletion = (name, question) => async () => {
  if (
    !(await deleteUsed({
      ...question,
      text: 'You can restore it from the trash for 30 days, and records get it back.',
    }))
  )
    return;
  deleted(name, question.path);
  await reload();
};
/** @type {ReturnType<typeof setTimeout> | undefined} */
let soon;
/** Shows the page again when what was sent has probably arrived. */
const later = () => {
  clearTimeout(soon);
  soon = setTimeout(() => void reload(), 1500);
};
/** @param {() => Promise<unknown>} act */
const done = (act) => async () => {
  await act().catch(failed);
  await reload();
};

/**
 * Shows a text once, to be copied.
 * @param {string} title
 * @param {string} text
 * @param {string} note
 */
const showOnce = (title, text, note) =>
  open(
    (close) =>
      html`<div class="panel">
        <h2>${title}</h2>
        <p class="soft">${note}</p>
        <pre class="notice">${text}</pre>
        <div class="buttons">
          ${button('Copy', () => copy(text))}${button('Done', () => close(null), 'primary')}
        </div>
      </div>`,
  );

/** @type {Record<string, Part>} */
const parts = {
  users: {
    one: 'user',
    empty: '',
    admin: true,
    load: got('/v1/users'),
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
      html`${button('Change…', () => changeUser(u))}${
        u.active && button('Invite', () => invite(u))
      }${
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
  },
  keys: {
    one: 'API key',
    empty: 'No API keys. An integration needs one.',
    admin: true,
    load: got('/v1/api-keys'),
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
    made: (k) => showOnce('The new API key', k.key, 'It is shown only once.'),
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
  },
  fields: {
    one: 'field',
    empty: 'No custom fields yet.',
    load: got('/v1/fields'),
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
  },
  tags: {
    one: 'tag',
    empty: 'No tags yet.',
    load: listed('/v1/tags/list'),
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
  },
  suppressions: {
    one: 'suppression',
    empty: 'Nobody is suppressed.',
    load: listed('/v1/suppressions/list'),
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
  },
  webhooks: {
    one: 'webhook',
    empty: 'No webhooks. Add an endpoint to hear about changes.',
    load: listed('/v1/webhooks/subscriptions/list'),
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
        s.secret,
        'It signs the deliveries and is shown only once.',
      ),
  },
};

/** @param {any} user */
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

/** @param {any} user */
async function invite(user) {
  const made = await post(`/v1/users/${user.id}/invite`, {});
  await showOnce(
    `A link for ${user.email}`,
    made.url,
    `It works once, until ${dateTime(made.expires_at)}. Send it to them.`,
  );
}

/**
 * @param {string} now
 * @param {unknown} content
 * @param {unknown} [action]
 * @param {string} [kind] of the page
 */
export const frame = (now, content, action, kind = '') =>
  html`<div class=${`page ${kind}`}>
    ${heading({ title: 'Settings', actions: action })}
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

/** @type {PageModule} */
export const settingsPage = {
  title: () => 'Settings',
  async load({ args }, signal) {
    const name = args.part || 'organization';
    if (name === 'organization') return { name, item: await get('/v1/organization', { signal }) };
    if (name === 'mail') return { name, item: await loadMail(signal) };
    if (name === 'erasure') return { name, items: await loadErasures(signal) };
    if (name === 'me') return { name, items: (await getPage('/v1/sessions', { signal })).data };
    if (!parts[name]) throw new ApiError(404, '', '');
    return { name, items: await parts[name].load(signal) };
  },
  view(model) {
    if (model.name === 'organization') return frame('organization', organization(model.item));
    if (model.name === 'mail') return frame('mail', mailView(model.item));
    if (model.name === 'erasure')
      return frame(
        'erasure',
        erasureView(model.items),
        may('admin') && button('Erase a person…', askErasure, 'danger'),
      );
    if (model.name === 'me') return frame('me', own(model.items));
    const part = parts[model.name];
    const allowed = part.fields && may(part.admin ? 'admin' : 'write');
    return frame(
      model.name,
      model.items.length === 0
        ? empty(part.empty)
        : table(
            [...part.columns.map(([label]) => label), ''],
            model.items.map((/** @type {any} */ item) => [
              ...part.columns.map(([, show]) => show(item)),
              html`<span class="buttons">${part.actions?.(item)}</span>`,
            ]),
          ),
      allowed && button(newOf(part), () => create(part), 'primary'),
    );
  },
};

/** @param {Part} part */
const newOf = (part) => `New ${part.one}`;

/** @param {Part} part */
async function create(part) {
  const made = await form(
    {
      title: newOf(part),
      action: 'Create',
      body: (state) => (part.fields || []).map((f) => field(state, f)),
      submit: ({ values, key }) => {
        const body = Object.fromEntries(
          Object.entries(values).filter(([, value]) => value !== null && value !== ''),
        );
        for (const name of ['triggers', 'allowed_values'])
          if (typeof body[name] === 'string') body[name] = listOf(body[name]);
        const { 'ai.question': question, 'ai.field': answering } = body;
        delete body['ai.question'];
        delete body['ai.field'];
        if (question || answering) body.ai = { question, field: answering };
        return post(part.path || '', body, { key });
      },
    },
    part.defaults,
  );
  if (!made) return;
  await part.made?.(made);
  await reload();
}

const week = [1, 2, 3, 4, 5, 6, 7]; // from Monday
/** @param {number} day */
const dayName = (day) => shortDay(`2024-01-0${day}T12:00:00Z`).slice(0, 3);

/** @param {FormState} state */
const organizationFields = (state) =>
  html`<div class="columns">
      ${field(state, { name: 'name', required: true })}${field(state, {
        name: 'time_zone',
        required: true,
        help: 'such as Europe/Berlin',
      })}
      ${field(state, {
        name: 'from_hour',
        label: 'Send from, hour',
        type: 'number',
      })}${field(state, { name: 'to_hour', label: 'Send until, hour', type: 'number' })}
    </div>
    <fieldset class="field">
      <legend class="label">Business days</legend>
      <span class="chips"
        >${week.map(
          (day) =>
            html`<label class="check"
              ><input
                type="checkbox"
                .checked=${state.values.business_days.includes(day)}
                @change=${(e) =>
                  state.set(
                    'business_days',
                    week.filter((d) =>
                      d === day ? e.target.checked : state.values.business_days.includes(d),
                    ),
                  )}
              />
              ${dayName(day)}</label
            >`,
        )}</span
      >${
        state.errors.business_days && html`<span class="error">${state.errors.business_days}</span>`
      }
    </fieldset>
    ${field(state, { name: 'holidays', help: 'dates such as 2026-12-25, with commas' })}
    ${field(state, {
      name: 'postal_address',
      rows: 3,
    })}${field(state, { name: 'mail_footer', rows: 4 })}`;

/** @param {any} o */
function organization(o) {
  const change = async () => {
    const saved = await form(
      {
        title: 'Organization',
        action: 'Save',
        body: (state) => organizationFields(state),
        submit: ({ values: v }) =>
          patch('/v1/organization', {
            name: v.name,
            time_zone: v.time_zone,
            postal_address: v.postal_address,
            mail_footer: v.mail_footer,
            holidays: listOf(v.holidays),
            business_days: v.business_days,
            sending_window: { from_hour: v.from_hour, to_hour: v.to_hour },
          }),
      },
      {
        ...o,
        holidays: o.holidays.join(', '),
        from_hour: o.sending_window.from_hour,
        to_hour: o.sending_window.to_hour,
      },
    );
    if (saved) {
      session.organization = saved;
      await reload();
    }
  };
  return html`<section class="section">
    ${pairs([
      ['Name', o.name],
      ['Time zone', o.time_zone],
      ['Business days', o.business_days.map(dayName).join(', ')],
      ['Sending window', `${o.sending_window.from_hour}:00–${o.sending_window.to_hour}:00`],
      ['Holidays', o.holidays.join(', ') || '—'],
      ['Postal address', o.postal_address || '—'],
      ['Mail footer', o.mail_footer],
    ])}
    ${may('admin') && html`<p class="buttons">${button('Change…', change)}</p>`}
  </section>`;
}

/** @param {any[]} sessions */
function own(sessions) {
  const password = async () => {
    const saved = await form({
      title: 'Change the password',
      action: 'Save',
      body: (state) =>
        html`${field(state, {
          name: 'old_password',
          label: 'Current password',
          type: 'password',
          autocomplete: 'current-password',
        })}${field(state, {
          name: 'password',
          label: 'New password',
          type: 'password',
          required: true,
          autocomplete: 'new-password',
          help: 'At least 10 characters, such as four unrelated words. Your other sessions end.',
        })}`,
      submit: ({ values }) => patch('/v1/me', values),
    });
    if (saved) {
      toast('The password was changed');
      await reload();
    }
  };
  return html`<p class="buttons">${button('Change the password…', password)}</p>
    ${table(
      ['Signed in', 'Last seen', 'Ends at the latest', ''],
      sessions.map((s) => [
        dateTime(s.created_at),
        dateTime(s.last_seen_at),
        dateTime(s.expires_at),
        s.current
          ? 'this session'
          : button(
              'End',
              done(() => remove(`/v1/sessions/${s.id}`)),
            ),
      ]),
    )}`;
}

/** @type {PageModule} */
export const webhookPage = {
  title: (model) => model.subscription.url,
  async load({ args, search }, signal) {
    const path = `/v1/webhooks/subscriptions/${args.id}`;
    const filter = search.get('status');
    const [subscription, attempts] = await Promise.all([
      get(path, { signal }),
      getPage(`${path}/deliveries?page_size=100${filter ? `&status=${filter}` : ''}`, { signal }),
    ]);
    return { path, subscription, attempts, filter };
  },
  view({ path, subscription: s, attempts, filter }) {
    const at = `/settings/webhooks/${s.id}`;
    return html`<div class="page">
      ${heading({
        up: ['/settings/webhooks', 'Webhooks'],
        title: s.url,
        note: html`${status(s.status)} ${s.triggers.join(', ')}`,
        actions: may('admin') && webhookActions(path, s),
      })}
      ${s.disabled_reason && html`<p class="notice bad">Disabled: ${why(s.disabled_reason)}.</p>`}
      ${
        s.consecutive_failures > 0 &&
        html`<p class="notice bad">
          ${plural(
            s.consecutive_failures,
            'The last attempt failed, {when}.',
            'The last {n} attempts failed, most recently {when}.',
            { when: when(s.last_failure_at) },
          )}
        </p>`
      }
      ${tabs([
        ['All attempts', at, !filter],
        ['Failed', `${at}?status=failed`, filter === 'failed'],
        ['Filter and export', `/settings/webhooks/deliveries?f=subscription_id:is:${s.id}`, false],
      ])}
      ${
        attempts.data.length === 0
          ? empty('Nothing was delivered yet.')
          : table(
              ['When', 'Event', 'Attempt', 'Result', 'Duration', ''],
              attempts.data.map((/** @type {any} */ a) => [
                when(a.created_at),
                a.trigger_key,
                a.attempt,
                html`${status(a.status)}
                  <span class="soft"
                    >${(a.error || a.response_code || '').toString().replace(/^\w+: /, '')}</span
                  >`,
                `${a.duration_ms} ms`,
                may('admin') &&
                  button(
                    'Redeliver',
                    done(async () => {
                      await post(`${path}/deliveries/${a.id}/redeliver`, {});
                      later();
                    }),
                  ),
              ]),
            )
      }
    </div>`;
  },
};

/** What can be done with a webhook. @param {string} path @param {API['Subscription']} s */
const webhookActions = (path, s) =>
  html`${button(
    'Test',
    done(async () => {
      await post(`${path}/test`, {});
      toast('A test event is on its way');
      later();
    }),
  )}
  ${button(
    s.status === 'active' ? 'Pause' : 'Activate',
    done(() => patch(path, { status: s.status === 'active' ? 'paused' : 'active' })),
  )}
  ${button('Redeliver failed…', () => redeliverFailed(path))}
  ${button(
    'Rotate the secret…',
    asked('Make a new secret? The old one works for another day.', 'Rotate', async () => {
      const made = await post(`${path}/rotate-secret`, {});
      await showOnce('The new secret', made.secret, 'It is shown only once.');
    }),
  )}
  ${button(
    'Delete…',
    async () => {
      if (await confirm({ action: 'Delete the webhook', danger: true })) {
        clearTimeout(soon);
        await remove(path);
        await go('/settings/webhooks');
      }
    },
    'danger',
  )}`;

/** Sends the events again that were given up in the last week. @param {string} path */
async function redeliverFailed(path) {
  const since = new Date(Date.now() - 7 * 24 * 60 * 60 * 1000).toISOString();
  const { queued: n } = await post(`${path}/redeliver-failed`, { since, dry_run: true });
  if (n === 0)
    return toast(
      'No event was given up in the last week. Failed attempts are repeated automatically.',
    );
  if (
    !(await confirm({
      title: plural(
        n,
        'Redeliver {n} event of the last week?',
        'Redeliver {n} events of the last week?',
      ),
      action: plural(n, 'Redeliver {n} event', 'Redeliver {n} events'),
    }))
  )
    return;
  await post(`${path}/redeliver-failed`, { since });
  await reload();
}
