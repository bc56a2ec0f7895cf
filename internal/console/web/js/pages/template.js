// @ts-check
// The template editor: steps, the text that a person receives, and the days on which it happens.
import { ApiError, is, list, patch, post, request } from '../api.js';
import { confirm } from '../components/dialog.js';
import { control, field, nameOf, optionsOf, resolve } from '../components/field.js';
import { graph } from '../components/graph.js';
import {
  button,
  empty,
  failed,
  heading,
  section,
  soft,
  status,
  toast,
} from '../components/parts.js';
import { html, keyed } from '../dom.js';
import { because, day, time, words } from '../format.js';
import { go, link, reload, setSearch } from '../router.js';
import { may, update } from '../state.js';
import { number, plural } from '../text.js';
import { openHistory } from './history.js';
import { deleted } from './undo.js';
import { deleteUsed } from '../uses.js';

const types = [
  'auto_email',
  'manual_email',
  'call',
  'task',
  'auto_linkedin_connection',
  'auto_linkedin_message',
  'gift',
];
const units = ['minutes', 'hours', 'days', 'business_days'];
const tokens = [
  'recipient.first_name',
  'recipient.last_name',
  'recipient.title',
  'recipient.company',
  'sender.first_name',
  'sender.last_name',
  'sender.email',
  'sender.company',
];
/** What must be empty for a token to have no value. @type {Record<string, string>} */
const emptyField = {
  first_name: 'first_name',
  last_name: 'last_name',
  title: 'title',
  company: 'account_id',
  email: 'email',
  phone_number: 'phone_number',
  location: 'location',
};

const email = (/** @type {string} */ subject, /** @type {string} */ message) => ({
  type: 'auto_email',
  title: 'Email',
  day: 0,
  hour: 9,
  subject,
  message,
});
const hello = 'Hello {{recipient.first_name|there}},\n\n';
const question = 'A question about {{recipient.company|your company}}';
const bye = '\n\n{{sender.first_name}}';
/** @type {[string, Item[], [number, number][]][]} */
const starters = [
  [
    'Three emails',
    [
      email(question, `${hello}who looks after this?${bye}`),
      email('', `${hello}did this reach you?${bye}`),
      email('My last email', `${hello}I will not write again.${bye}`),
    ],
    [
      [0, 3],
      [1, 5],
    ],
  ],
  [
    'An email and a call',
    [
      email(question, `${hello}may I call you this week?${bye}`),
      {
        type: 'call',
        title: 'Call',
        day: 0,
        hour: 14,
        message: 'Ask {{recipient.first_name}} about the email.',
      },
    ],
    [[0, 2]],
  ],
  ['One email', [email('Hello {{recipient.first_name|there}}', `${hello}…${bye}`)], []],
];

/**
 * @param {number} from
 * @param {number} to
 * @param {number} delay
 */
const transition = (from, to, delay) => ({
  from_step_index: from,
  to_step_index: to,
  transition_type: 'PREVIOUS_STEP_COMPLETES',
  pre_check_time_unit: 'business_days',
  pre_check_delay: delay,
  post_check_time_unit: null,
  post_check_delay: 0,
  require_all: false,
});

/** @type {PageModule} */
export const templatePage = {
  title: (model) => model.template.name || 'New template',
  async load({ args, search }, signal, previous) {
    const isNew = args.id === 'new';
    const path = `/v1/sequence-templates/${args.id}`;
    const answer = isNew ? null : await request('GET', path, undefined, { signal });
    const model = Object.assign(previous || {}, {
      isNew,
      path,
      template: answer?.body.data || { name: '', steps: [], transitions: [], blocks: {} },
      etag: answer?.headers.get('ETag'),
      isDirty: false,
      errors: {},
      step: Number(search.get('step') || 1) - 1,
      as: search.get('as') || '',
      texts: [],
      invalid: '',
      campaigns: [],
      missing: null,
      isBusy: false,
    });
    void preview(model).catch(failed);
    return model;
  },
  view,
  keys: (model) => ({
    'Ctrl s': () => void save(model),
    'Alt ArrowUp': () => move(model, -1),
    'Alt ArrowDown': () => move(model, 1),
  }),
};

/** What a contact would receive, and when, by the server. @param {Item} model */
async function preview(model) {
  if (!model.isNew)
    model.campaigns = (
      await list('/v1/campaigns/list', {
        page_size: 100,
        filters: [is('template_id', model.template.id)],
      })
    ).data;
  const [campaign] = model.campaigns;
  const audience = campaign?.audiences[0];
  if (!model.as)
    model.as =
      (
        await list(audience ? `/v1/audiences/${audience.id}/contacts/list` : '/v1/contacts/list', {
          page_size: 1,
        })
      ).data[0]?.id || '';
  if (model.as) await resolve('contacts', model.as);
  await render(model);
  await countMissing(model, audience);
}

/** The content of the template. @param {Item} model */
const contentOf = ({ template: x }) => ({
  name: x.name || 'New template',
  description: x.description ?? null,
  steps: x.steps,
  transitions: x.transitions,
  blocks: x.blocks || {},
});

/**
 * Renders the template as it is in the editor, saved or not, with its times.
 * @param {Item} model
 */
async function render(model) {
  const run = (model.run = (model.run || 0) + 1);
  if (model.template.steps.length === 0) return;
  try {
    const { name, description, ...content } = contentOf(model);
    const { steps } = await post('/v1/sequence-templates/render', {
      ...content,
      ...(model.as ? { contact_id: model.as } : {}),
    });
    if (run !== model.run) return;
    model.texts = steps;
    model.invalid = '';
  } catch (error) {
    if (run === model.run) model.invalid = inWords(/** @type {Error} */ (error).message);
  }
  update();
}

/** An error of the API, which counts steps from 0. @param {string} message */
const inWords = (message) =>
  message.replace(
    /steps\[(\d+)\]\.(\w+)/g,
    (_, n, name) => `Step ${number(Number(n) + 1)}, ${words(name).toLowerCase()}`,
  );

/** Sends the email of the step to oneself. @param {Item} model */
async function test(model) {
  const { name, description, ...content } = contentOf(model);
  const sent = await post('/v1/sequence-templates/test', {
    ...content,
    step_index: model.template.steps[model.step].index,
    ...(model.as ? { contact_id: model.as } : {}),
  });
  toast(sent.sent ? `Sent to ${sent.to}` : `Not sent to ${sent.to}: ${sent.detail}`, {
    bad: !sent.sent,
  });
}

/**
 * How many people of the audience lack a value of the step.
 * @param {Item} model
 * @param {Item | undefined} audience
 */
async function countMissing(model, audience) {
  const step = model.template.steps[model.step];
  const used = [
    ...`${step?.subject || ''} ${step?.message || ''}`.matchAll(/\{\{recipient\.(\w+)\}\}/g),
  ]
    .map(([, name]) => name)
    .filter((name) => emptyField[name]);
  model.missing = [];
  if (audience && used.length) {
    const path = `/v1/audiences/${audience.id}/contacts/list`;
    const count = async (/** @type {Rule[]} */ filters) =>
      (await list(path, { page_size: 1, filters })).pagination.total_count;
    const all = await count([]);
    model.missing = await Promise.all(
      [...new Set(used)].map(async (name) => ({
        name,
        all,
        n: await count([{ field: emptyField[name], condition: 'is_empty' }]),
      })),
    );
  }
  update();
}

/** @param {Item} model */
function changed(model) {
  model.isDirty = true;
  model.errors = {};
  update();
  clearTimeout(model.timer);
  model.timer = setTimeout(() => void render(model), 300);
}

/** @param {Item} model @param {number} step */
function select(model, step) {
  model.step = step;
  const search = new URLSearchParams();
  if (step) search.set('step', String(step + 1));
  if (model.as) search.set('as', model.as);
  setSearch(search.size > 0 ? `?${search}` : '');
  update();
  if (!model.isNew) void countMissing(model, model.campaigns[0]?.audiences[0]).catch(() => {});
}

/** @param {Item} model */
function view(model) {
  const { template: x, isNew } = model;
  const used = model.campaigns.length;
  return html`<div class="page full">
    ${heading({
      up: ['/templates', 'Templates'],
      title: x.name || 'New template',
      note: isNew
        ? ''
        : used
          ? html`${plural(used, 'used by {n} campaign:', 'used by {n} campaigns:')}
            ${model.campaigns.map(
              (/** @type {Item} */ c, /** @type {number} */ i) =>
                html`${i > 0 && ', '}<a href=${link(`/campaigns/${c.id}`)} dir="auto"
                    >${c.name}</a
                  >`,
            )}`
          : 'not used by a campaign',
      actions: may('write') && headingActions(model),
    })}
    ${model.problem && html`<p class="notice bad" role="alert">${model.problem}</p>`}
    ${
      x.steps.length === 0
        ? start(model)
        : html` <div class="columns">
              ${
                may('write') &&
                html`${field(formOf(x, model, ''), {
                  name: 'name',
                  required: true,
                })}${field(formOf(x, model, ''), { name: 'description' })}`
              }
              ${html`<div class="field">
                <label for="as">Show as</label>${control({
                  id: 'as',
                  name: 'as',
                  label: 'Show as',
                  type: 'reference',
                  reference: 'contacts',
                  value: model.as,
                  set: (v) => {
                    if (v && v !== model.as) {
                      model.as = v;
                      select(model, model.step);
                      void preview(model);
                    }
                  },
                })}
              </div>`}
            </div>
            <div class="editor">
              ${section('Steps', stepList(model))}${section(
                `Step ${number(model.step + 1)}`,
                editor(model),
              )}${section('What they receive', receives(model))}
            </div>
            ${timeline(model)}`
    }
  </div>`;
}

/** @param {Item} model */
function headingActions(model) {
  const { template: x, isNew } = model;
  return html` ${model.isDirty && html`<span class="status warn">not saved</span>`}
    ${x.steps[model.step]?.type === 'auto_email' && button('Send to me', () => test(model))}${
      !isNew &&
      html`${button('History', () =>
        openHistory('sequence-templates', nameOf(x), model.path),
      )}${button('Delete…', () => deleteTemplate(model), 'danger')}`
    }<button
      class="button primary"
      type="button"
      ?disabled=${!model.isDirty || model.isBusy}
      @click=${() => save(model)}
    >
      Save
    </button>`;
}

/** When each step happens. @param {Item} model */
const timeline = (model) =>
  section(
    'Timeline',
    graph({
      nodes: model.template.steps.map((/** @type {Item} */ step, /** @type {number} */ i) => ({
        index: i,
        label: step.title || words(step.type),
        isTask: step.type !== 'auto_email',
        at: model.texts.find((/** @type {Item} */ s) => s.index === i)?.due_at || null,
      })),
      edges: model.template.transitions.map((/** @type {Item} */ e) => ({
        from: e.from_step_index,
        to: e.to_step_index,
        label: delay(e),
      })),
      selected: model.step,
      onSelect: (index) => select(model, index),
    }),
    soft('for a sequence that starts now'),
  );

/** @param {Item} model */
const start = (model) =>
  empty(
    'Choose a start. You can change everything.',
    html`<div class="buttons">
      ${starters.map(([name, steps, delays]) =>
        button(name, () => {
          model.template = {
            ...model.template,
            name,
            steps: steps.map((step, index) => ({ ...step, index })),
            transitions: delays.map(([from, n]) => transition(from, from + 1, n)),
          };
          model.step = 0;
          changed(model);
        }),
      )}
    </div>`,
  );

/**
 * A record of the template as a form, so that errors appear beside their fields.
 * @param {Item} values
 * @param {Item} model
 * @param {string} prefix
 * @returns {any}
 */
const formOf = (values, model, prefix) => ({
  values,
  errors: Object.fromEntries(
    Object.entries(model.errors)
      .filter(([path]) => path.startsWith(prefix))
      .map(([path, message]) => [path.slice(prefix.length), message]),
  ),
  set(/** @type {string} */ name, /** @type {unknown} */ value) {
    values[name] = value;
    changed(model);
  },
});

/** @param {Item} e */
const delay = (e) =>
  [
    [e.pre_check_delay, e.pre_check_time_unit],
    [e.post_check_delay, e.post_check_time_unit],
  ]
    .filter(([n, unit]) => n && unit)
    .map(([n, unit]) =>
      unit === 'business_days'
        ? plural(n, '{n} business day', '{n} business days')
        : plural(n, `{n} ${unit.slice(0, -1)}`, `{n} ${unit}`),
    )
    .join(' + ') || 'at once';

/** @param {Item} model */
function stepList(model) {
  const { template: x } = model;
  return html`<ol class="steps">
      ${keyed(
        x.steps,
        (_, i) => i,
        (step, i) =>
          html`<li>
            <button
              type="button"
              aria-current=${i === model.step ? 'true' : null}
              @click=${() => select(model, i)}
            >
              <span class="soft">${i + 1}</span
              ><span
                ><span dir="auto">${step.title || words(step.type)}</span><br /><span
                  class="soft small"
                  >${words(step.type.replace('auto_', ''))} ·
                  ${
                    x.transitions
                      .filter((/** @type {Item} */ e) => e.to_step_index === i)
                      .map(delay)
                      .join(', ') || `day ${number(step.day || 0)}, ${step.hour ?? 9}:00`
                  }</span
                ></span
              >
            </button>
          </li>`,
      )}
    </ol>
    ${
      may('write') &&
      html`<div class="buttons">
        ${button('+ Step', () => {
          const index = x.steps.length;
          x.steps.push({ ...email('', `${hello}…${bye}`), index });
          if (index) x.transitions.push(transition(index - 1, index, 2));
          model.step = index;
          changed(model);
        })}${
          x.steps.length > 1 &&
          html`${button(
            '↑',
            () => move(model, -1),
            'icon',
          )}${button('↓', () => move(model, 1), 'icon')}${button('Remove', () =>
            removeStep(model),
          )}`
        }
      </div>`
    }`;
}

/**
 * Exchanges the step with one beside it. The transitions keep their places.
 * @param {Item} model
 * @param {number} by
 */
function move(model, by) {
  const { steps } = model.template;
  const to = model.step + by;
  if (!steps[to]) return;
  [steps[model.step], steps[to]] = [
    { ...steps[to], index: model.step },
    { ...steps[model.step], index: to },
  ];
  model.step = to;
  changed(model);
}

/** @param {Item} model */
function removeStep(model) {
  const { template: x, step: gone } = model;
  const before = structuredClone({ steps: x.steps, transitions: x.transitions });
  const shift = (/** @type {number} */ i) => (i > gone ? i - 1 : i);
  x.steps = x.steps
    .filter((/** @type {Item} */ _, /** @type {number} */ i) => i !== gone)
    .map((/** @type {Item} */ step, /** @type {number} */ index) => ({ ...step, index }));
  // What followed the step follows what was before it.
  const [from] = x.transitions
    .filter((/** @type {Item} */ e) => e.to_step_index === gone)
    .map((/** @type {Item} */ e) => e.from_step_index);
  x.transitions = x.transitions
    .filter(
      (/** @type {Item} */ e) =>
        e.to_step_index !== gone && (e.from_step_index !== gone || from !== undefined),
    )
    .map((/** @type {Item} */ e) => ({
      ...e,
      from_step_index: shift(e.from_step_index === gone ? from : e.from_step_index),
      to_step_index: shift(e.to_step_index),
    }));
  model.step = Math.max(0, gone - 1);
  changed(model);
  toast(`Step ${number(gone + 1)} removed`, {
    undo: () => {
      Object.assign(x, before);
      changed(model);
    },
  });
}

/** How long a step waits. @param {Item} model @param {Item} e the transition @param {number} at the step */
function waitFields(model, e, at) {
  const { template: x } = model;
  const wait = formOf(e, model, `transitions[${x.transitions.indexOf(e)}].`);
  return html`<div class="columns">
    ${field(
      {
        ...wait,
        values: { ...e, from_step_index: String(e.from_step_index) },
        set: (/** @type {string} */ name, /** @type {string} */ v) => wait.set(name, Number(v)),
      },
      {
        name: 'from_step_index',
        label: 'After step',
        required: true,
        options: x.steps
          .map((/** @type {Item} */ s, /** @type {number} */ i) => ({
            value: String(i),
            label: `${i + 1} ${s.title || words(s.type)}`,
          }))
          .filter((/** @type {Item} */ o) => o.value !== String(at)),
      },
    )}
    ${field(wait, { name: 'pre_check_delay', label: 'Wait', type: 'number' })}${field(wait, {
      name: 'pre_check_time_unit',
      label: 'Unit',
      options: optionsOf(units),
    })}
  </div>`;
}

/** @param {Item} model */
function editor(model) {
  const { template: x, step: at } = model;
  const step = x.steps[at];
  if (!step) return '';
  const form = formOf(step, model, `steps[${at}].`);
  const incoming = x.transitions.filter((/** @type {Item} */ e) => e.to_step_index === at);
  const isEmail = step.type.endsWith('email');
  return html`<fieldset class="form" ?disabled=${!may('write')}>
    <div class="columns">
      ${field(form, {
        name: 'type',
        required: true,
        options: optionsOf(types),
      })}${field(form, { name: 'title' })}
    </div>
    ${incoming.map((/** @type {Item} */ e) => waitFields(model, e, at))}
    <div class="columns">
      ${
        incoming.length === 0 &&
        field(form, { name: 'day', label: 'Day of the sequence', type: 'number' })
      }${field(form, { name: 'hour', label: 'Hour of the day', type: 'number' })}
    </div>
    ${
      isEmail &&
      field(form, { name: 'subject', help: at ? 'Empty: a reply in the same thread.' : '' })
    }
    ${field(form, { name: 'message', label: isEmail ? 'Message' : 'Notes', rows: 10 })}
    <div class="field">
      <label for="token">Insert</label
      ><select
        id="token"
        @change=${(e) => {
          insert(model, e.target.value);
          e.target.value = '';
        }}
      >
        <option value="">Token or block…</option>
        ${[
          ...tokens.map((token) => `{{${token}}}`),
          ...Object.keys(x.blocks || {}).map((id) => `[[block:${id}]]`),
        ].map((token) => html`<option value=${token}>${token}</option>`)}
      </select>
    </div>
  </fieldset>`;
}

/** Inserts a token at the caret of the message. @param {Item} model @param {string} token */
function insert(model, token) {
  const area = /** @type {HTMLTextAreaElement | null} */ (
    document.querySelector('[data-field="message"]')
  );
  const step = model.template.steps[model.step];
  const at = area?.selectionStart ?? 0;
  step.message = (step.message || '').slice(0, at) + token + (step.message || '').slice(at);
  if (area) area.value = step.message; // a render leaves the field alone in which somebody types
  changed(model);
  requestAnimationFrame(() => {
    area?.focus();
    area?.setSelectionRange(at + token.length, at + token.length);
  });
}

/** @param {Item} model */
function receives(model) {
  const text = model.texts.find((/** @type {Item} */ s) => s.index === model.step);
  if (model.invalid) return html`<p class="notice warn">${model.invalid}</p>`;
  if (!text) return soft('Loading…');
  return html`${
      text.due_at &&
      html`<p>
        ${day(text.due_at)} ${time(text.due_at)} <span class="soft">${because(text.reason)}</span>
      </p>`
    }
    <div class="mail">
      ${text.subject && html`<strong dir="auto">${text.subject}</strong>`}
      <div class="wrap" dir="auto">${text.message}</div>
    </div>
    ${
      text.missing.length > 0 &&
      html`<p class="notice warn">No value: ${text.missing.join(', ')}</p>`
    }
    ${(model.missing || []).map(
      (/** @type {Item} */ m) =>
        html`<p>
          ${
            m.n
              ? status(
                  'held',
                  `${number(m.n)} of ${number(m.all)}: no ${words(m.name).toLowerCase()}`,
                )
              : status('active', `all ${number(m.all)} have ${words(m.name).toLowerCase()}`)
          }
        </p>`,
    )}`;
}

/** @param {Item} model */
async function save(model) {
  const { template: x, isNew } = model;
  if (model.isBusy || !model.isDirty) return;
  model.isBusy = true;
  model.problem = '';
  const change = { ...contentOf(model), name: x.name };
  try {
    const saved = await (isNew
      ? post('/v1/sequence-templates', change, { key: (model.key ??= crypto.randomUUID()) })
      : patch(model.path, change, { match: model.etag }));
    model.isDirty = false;
    const running = model.campaigns
      .filter((/** @type {Item} */ c) => c.status === 'active')
      .map((/** @type {Item} */ c) => c.name);
    toast(
      running.length
        ? `Saved. Whoever is in ${running.join(', ')} already keeps the earlier text, until ` +
            'you press “Use the newest text…” there.'
        : 'Saved',
    );
    await (isNew ? go(`/templates/${saved.id}`, { replace: true }) : reload());
  } catch (error) {
    if (error instanceof ApiError && error.status === 412) return conflict(model);
    const details = error instanceof ApiError ? error.details : [];
    for (const { path, message } of details) model.errors[path] ??= message;
    const inStep = /^steps\[(\d+)\]/.exec(details[0]?.path || '');
    if (inStep) model.step = Number(inStep[1]);
    model.problem = details.length
      ? `${number(details.length)} to correct: ${inWords(`${details[0].path}: ${details[0].message}`)}`
      : /** @type {Error} */ (error).message;
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        /** @type {HTMLElement | null} */ (
          document.querySelector('[aria-invalid="true"]')
        )?.focus(),
      ),
    );
  } finally {
    model.isBusy = false;
    update();
  }
}

/** Somebody else has changed the template. @param {Item} model */
async function conflict(model) {
  const theirs = await request('GET', model.path);
  const fields = ['name', 'description', 'steps', 'transitions', 'blocks'].filter(
    (key) => JSON.stringify(theirs.body.data[key]) !== JSON.stringify(model.template[key]),
  );
  if (
    await confirm({
      title: 'Somebody else has changed this template',
      action: 'Keep mine',
      danger: true,
      text: html`Different: ${fields.map(words).join(', ')}.
        <a href=${link(`/templates/${model.template.id}`)} target="_blank">See theirs</a>`,
    })
  ) {
    model.etag = theirs.headers.get('ETag');
    await save(model);
  }
}

/** @param {Item} model */
async function deleteTemplate(model) {
  if (
    !(await deleteUsed({
      path: model.path,
      title: `Delete ${nameOf(model.template)}?`,
      text: 'You can restore it from the trash for 30 days.',
      action: 'Delete the template',
    }))
  )
    return;
  model.isDirty = false;
  await go('/templates');
  deleted(nameOf(model.template), model.path, `/templates/${model.template.id}`);
}
