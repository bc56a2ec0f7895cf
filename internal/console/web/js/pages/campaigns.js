// @ts-check
// A campaign: start safely, and account for every person.
import { get, is, list, newKey, patch, post, remove } from '../api.js';
import { bars, columns, stacked } from '../components/chart.js';
import { confirm, form, open } from '../components/dialog.js';
import { field, knownName, optionsOf, resolve } from '../components/field.js';
import { button, empty, heading, pairs, section, status, tabs, toast } from '../components/parts.js';
import { column, Table } from '../components/table.js';
import { html } from '../dom.js';
import { because, dateTime, shortDay, words } from '../format.js';
import { current, go, link, reload } from '../router.js';
import { isWatched, may, session, update } from '../state.js';
import { number, t, tn, why } from '../text.js';

const every = 5000; // milliseconds between two readings of a running campaign
const planEvery = 60_000; // milliseconds between two plans, at least
const at = (/** @type {Item} */ model) => `/v1/campaigns/${model.campaign.id}`;
const options = (/** @type {Item[]} */ items) => items.map((x) => ({ value: x.id, label: x.contact_count === undefined ? x.name : `${x.name} (${number(x.contact_count)})` }));
const audiences = async () => (await list('/v1/audiences/list', { page_size: 500, sort: 'name', filters: [is('status', 'active')] })).data;

/** Asks for the template and the audience of a new campaign. */
export async function createCampaign() {
  const [templates, people] = await Promise.all([list('/v1/sequence-templates/list', { page_size: 500, sort: 'name' }), audiences()]);
  const made = await form({
    title: t('New campaign'), action: t('Create draft'),
    body: (state) => html`${field(state, { name: 'name', required: true })}
      ${field(state, { name: 'template_id', label: t('Template'), required: true, options: options(templates.data), help: templates.data.length ? '' : t('Write a template first.') })}
      ${field(state, { name: 'audience_ids', label: t('Audience'), required: true, options: options(people), help: people.length ? '' : t('Make an audience from the contacts first.') })}
      ${field(state, { name: 'missing_values', label: t('If a value in the text is missing'), required: true, options: optionsOf(['hold', 'send', 'skip']) })}
      <p class="soft">${t('Nothing is sent until you press Start.')}</p>`,
    submit: ({ values, key }) => post('/v1/campaigns', { ...values, audience_ids: [values.audience_ids].filter(Boolean), owner_id: session.me?.user_id }, { key }),
  }, { template_id: templates.data[0]?.id, audience_ids: people[0]?.id, missing_values: 'hold' });
  if (made) void go(`/campaigns/${made.id}`);
}

/** @type {PageModule} */
export const campaignPage = {
  title: (model) => model.campaign.name,
  async load({ args, search, row }, signal, previous) {
    const path = `/v1/campaigns/${args.id}`;
    const [campaign, stats] = await Promise.all([get(path, { signal }), get(`${path}/stats`, { signal })]);
    if (campaign.owner_id) await resolve('users', campaign.owner_id).catch(() => '');
    const model = Object.assign(previous || { plan: null }, { campaign, stats, status: search.get('status') || '', reason: search.get('reason') || '' });
    model.table ??= people(model);
    void model.table.refresh({ first: row }).catch(() => {});
    planAgain(model);
    clearTimeout(model.timer);
    if (campaign.status === 'active') model.timer = setTimeout(() => void follow(model), every);
    return model;
  },
  view, close: (model) => { clearTimeout(model.timer); model.table.close(); },
  keys: (model) => ({ s: () => void simulate(model), p: () => { if (model.campaign.status === 'active') void set(model, 'paused'); }, ...model.table.keys((/** @type {Item} */ s) => void go(`/contacts/${s.contact_id}`)) }),
  actions: (model) => [{ label: t('Simulate'), act: () => simulate(model) }],
};

/** Why a sequence is where it is. @param {Item} s */
function whyHere(s) {
  if (s.status === 'completed') return t('all steps are done');
  const task = s.status === 'active' && s.history.find((/** @type {Item} */ h) => h.status === 'task_open' && h.task_id);
  if (task) return html`${t('waits for a task that is due {when}', { when: dateTime(task.due_at) })} · <a href=${link(`/tasks/${task.task_id}`)}>${t('Open the task')}</a>`;
  return [s.reason && words(why(s.reason)), because(s.history.at(-1)?.reason)].filter(Boolean).join('; ');
}

/** Reads the counts and the people of a running campaign again while somebody looks. @param {Item} model */
async function follow(model) {
  if (isWatched()) {
    model.stats = await get(`${at(model)}/stats`).catch(() => model.stats);
    if (current.model !== model) return;
    void model.table.refresh().catch(() => {});
    planAgain(model);
    update();
  }
  model.timer = setTimeout(() => void follow(model), every);
}

/** The people of a campaign, each with status and reason. @param {Item} model */
function people(model) {
  return new Table({
    label: t('People'), href: (s) => link(`/contacts/${s.contact_id}`),
    fetch: async (page, page_size, signal) => {
      const { status: only, reason } = model;
      const filters = Object.entries({ status: only, reason }).filter(([, value]) => value).map(([name, value]) => is(name, value));
      const found = await list(`${at(model)}/sequences/list`, { page, page_size, filters }, { signal });
      if (found.pagination.total_count > model.stats.enrolled) { // the counts must not say less than the table shows
        model.stats = await get(`${at(model)}/stats`, { signal });
        update();
      }
      return found;
    },
    columns: [
      column('name', t('Name'), 200, (s) => s.contact_name || s.contact_email || t('deleted contact')),
      column('step', t('Step'), 80, (s) => (s.current_step_index === null ? '' : t('step {n}', { n: s.current_step_index + 1 }))),
      column('status', t('Status'), 130, (s) => status(s.reason === 'replied' ? 'replied' : s.status)),
      column('due', t('Next'), 170, (s) => (s.next_due_at ? dateTime(s.next_due_at) : '—')),
      column('why', t('Why'), 420, whyHere),
    ],
    empty: () => empty(model.status ? t('Nobody is in this state.') : model.campaign.status === 'active' ? t('Nobody is enrolled yet. People of the audience come in one after another.') : t('Nobody is enrolled yet. People of the audience come in when you start the campaign.')),
  });
}

/** @param {Item} model */
function view(model) {
  const { campaign: c, stats: s } = model;
  const filter = (/** @type {string} */ value, reason = '') => `/campaigns/${c.id}${value ? `?status=${value}` : ''}${reason ? `&reason=${reason}` : ''}`;
  const transport = transportOf(c.transport);
  const stopped = Object.entries(s.stopped_by_reason).map(([reason, n]) => `${number(Number(n))} ${why(reason)}`).join(', ');
  return html`<div class="page list-page">
    ${heading({ up: ['/campaigns', t('Campaigns')], title: c.name, note: html`${c.held ? status('held') : status(c.status)} · <a href=${link(`/templates/${c.template_id}`)} dir="auto">${c.template_name}</a>${` · ${c.audiences.map((/** @type {Item} */ a) => a.name).join(', ')}`}${transport && ` · ${transport}`}${knownName(c.owner_id) && t(' · from {who}', { who: knownName(c.owner_id) })}`, actions: html`
      ${button(t('Simulate'), () => simulate(model))}
      ${may('write') && html`${button(t('Add people…'), () => addAudience(model))}${s.messages_failed > 0 && button(t('Retry…'), () => retry(model))}
        ${c.status === 'active' && button(t('Pause'), () => set(model, 'paused'))}
        ${c.status === 'draft' && button(t('Delete…'), () => deleteDraft(model), 'danger')}
        ${!c.held && ['draft', 'paused'].includes(c.status) && button(c.status === 'paused' ? t('Resume…') : t('Start…'), () => start(model), 'primary')}`}` })}
    ${c.held && html`<div class="notice warn"><span class="grow">${c.held.since ? t('Held since {when}: {reason}. Nothing is sent.', { reason: why(c.held.reason), when: dateTime(c.held.since) }) : t('Held: {reason}. Nothing is sent.', { reason: why(c.held.reason) })}</span>${may('write') && button(t('Release…'), () => release(model))}</div>`}
    <div class="section"><p>${t('{enrolled} enrolled = {active} active + {completed} completed + {stopped} stopped{why} + {not_started} not started', { ...s, why: stopped && ` (${stopped})` })}</p>
      ${stacked([[t('active'), 'active', 'accent'], [t('completed'), 'completed', 'good'], [t('stopped'), 'stopped', 'bad'], [t('not started'), 'not_started', 'soft']].map(([label, key, color]) => ({ label, value: s[key], className: `fill-${color}`, href: link(filter(key)) })))}</div>
    <div class="split">${section(t('Steps'), bars(s.steps.map((/** @type {Item} */ step) => ({ label: t('Step {n}', { n: step.step_index + 1 }), value: step.done, text: number(step.done), action: html`<span class="soft">${stepNote(step)}</span>` }))),
      html`<span class="soft">${[tn(s.messages_sent, '{n} email sent', '{n} emails sent'), s.messages_captured > 0 && t('{n} captured', { n: s.messages_captured }), s.messages_failed > 0 && t('{n} failed', { n: s.messages_failed })].filter(Boolean).join(', ')}</span>`)}
      ${section(t('Plan'), model.plan?.per_day.length === 0 ? '' : model.plan ? columns(model.plan.per_day.slice(0, 10).map((/** @type {Item} */ d) => ({ label: shortDay(`${d.date}T12:00:00Z`), value: d.sends + d.tasks }))) : html`<div class="skeleton body"></div>`,
        html`<span class="soft">${model.plan && (model.plan.last_at ? t('emails and tasks per day, the last {when}', { when: dateTime(model.plan.last_at) }) : t('nothing is left to do'))}</span>`)}</div>
    <div class="toolbar"><h2>${t('People')}</h2>${tabs(['', 'active', 'completed', 'stopped', 'not_started'].map((value) => [value ? words(value) : t('All'), filter(value), model.status === value]))}
      ${Object.keys({ stopped: s.stopped_by_reason, not_started: s.not_started_by_reason }[/** @type {string} */ (model.status)] || {}).map((reason) => html`<a class=${model.reason === reason ? 'chip on' : 'chip'} href=${link(filter(model.status, model.reason === reason ? '' : reason))}>${words(why(reason))}</a>`)}</div>
    ${model.table.element}
  </div>`;
}

/** @param {string | null} transport */
const transportOf = (transport) => (transport === 'outbox' ? t('captured in the outbox, nothing leaves this server') : transport ? t('sent through {transport}', { transport: transport.toUpperCase() }) : '');

/** @param {Item} step */
const stepNote = (step) => ['waiting', 'held', 'failed', 'skipped'].filter((key) => step[key] > 0).map((key) => `${number(step[key])} ${key}`).join(', ');

/** @param {Item} model @param {string} value */
async function set(model, value) {
  const before = model.campaign.status;
  await patch(at(model), { status: value });
  toast(value === 'active' ? t('The campaign has started') : t('The campaign is {status}', { status: value }), { undo: before === 'active' ? async () => { await patch(at(model), { status: before }); await reload(); } : undefined });
  model.plan = null;
  await reload();
}

/** Reads the plan when something has happened, which is no longer planned then. A large campaign is planned rarely, because that takes long. @param {Item} model */
function planAgain(model) {
  if (!model.plan || JSON.stringify(model.stats) !== model.plannedFor && Date.now() > model.planAfter) void plan(model).catch(() => {});
}

/** @param {Item} model */
async function plan(model) {
  const start = Date.now();
  model.plannedFor = JSON.stringify(model.stats);
  model.planAfter = Infinity; // one at a time
  try {
    model.plan = (await list(`${at(model)}/simulate`, { page_size: 1 })).summary;
  } finally {
    model.planAfter = Date.now() + Math.max(planEvery, 50 * (Date.now() - start));
  }
  update();
  return model.plan;
}

/** @param {Item} s */
const summary = ({ people: p, ...s }) => pairs([[t('People'), t('{n} of {total} receive something', { n: p.reached, total: s.contacts })], [t('Emails'), tn(p.sends, '{total} to {n} person', '{total} to {n} people', { total: s.sends })], [t('Tasks'), tn(p.tasks, '{total} for {n} person', '{total} for {n} people', { total: s.tasks })], [t('First'), s.first_at ? dateTime(s.first_at) : '—'], [t('Last'), s.last_at ? dateTime(s.last_at) : '—'],
  .../** @type {[string, string][]} */ ([[t('Skipped'), 'skipped'], [t('Held'), 'held']]).flatMap(([label, key]) => Object.entries(p[key]).map(([reason, n]) => /** @type {[string, string]} */ ([label, tn(n, '{n} person: {why}, {steps} of their steps', '{n} people: {why}, {steps} of their steps', { why: why(reason), steps: s[key][reason] })])))]);

/** @param {Item} model */
async function simulate(model) {
  const s = await plan(model);
  await open((close) => html`<div class="panel"><h2>${t('What would happen')}</h2>${summary(s)}<p class="soft">${t('Nothing was sent.')}</p><div class="buttons">${button(t('Close'), () => close(null))}</div></div>`);
}

/** @param {Item} model */
async function start(model) {
  const [s, mail] = await Promise.all([plan(model), may('admin') ? get('/v1/mail/status').catch(() => null) : null]);
  const where = mail && html`<p>${transportOf(mail.transport)}</p>`;
  if (await confirm({ title: t('Start {name}?', { name: model.campaign.name }), text: html`${summary(s)}${where}`, action: tn(s.people.reached, 'Start for {n} person', 'Start for {n} people') })) await set(model, 'active');
}

/** @param {Item} model */
async function addAudience(model) {
  const attached = model.campaign.audiences.map((/** @type {Item} */ a) => a.id);
  const others = (await audiences()).filter((a) => !attached.includes(a.id));
  const done = await form({
    title: t('Add people'), action: t('Add the audience'),
    body: (state) => field(state, { name: 'audience', required: true, options: options(others), help: others.length ? t('Contacts can also be added from their list.') : t('All audiences are in the campaign.') }),
    submit: ({ values, key }) => post(`${at(model)}/audiences/add`, { audience_ids: [values.audience].filter(Boolean) }, { key }),
  }, { audience: others[0]?.id });
  model.plan = null;
  if (done) await reload();
}

/** @param {Item} model */
async function retry(model) {
  const { queued: n } = await post(`${at(model)}/retry`, { status: ['failed'], dry_run: true });
  if (n === 0) return toast(t('Nobody knows whether these messages arrived. They are not sent again, so that nobody gets one twice.'));
  if (await confirm({ title: tn(n, 'Try {n} message again?', 'Try {n} messages again?'), action: tn(n, 'Send {n} message', 'Send {n} messages') })) {
    await post(`${at(model)}/retry`, { status: ['failed'] }, { key: newKey() });
    await reload();
  }
}

/** @param {Item} model */
async function deleteDraft(model) {
  if (!await confirm({ title: t('Delete {name}?', { name: model.campaign.name }), text: t('This cannot be undone.'), action: t('Delete the campaign'), danger: true })) return;
  await remove(at(model));
  await go('/campaigns');
}

/** Release says how many messages each choice sends. @param {Item} model */
async function release(model) {
  const choices = await Promise.all(['send', 'skip'].map(async (overdue) => ({ overdue, counts: await post(`${at(model)}/release`, { overdue, captured: 'keep', dry_run: true }).catch(() => null) })));
  const done = await form({
    title: t('Release {name}', { name: model.campaign.name }), action: t('Release'),
    body: (state) => choices.map(({ overdue, counts }) => html`<label class="check"><input type="radio" name="overdue" value=${overdue} .checked=${state.values.overdue === overdue} @change=${() => state.set('overdue', overdue)}>
      ${overdue === 'send' ? t('Send what is overdue') : t('Skip what is overdue')} ${counts && html`<span class="soft">${tn(counts.to_send, '{n} step happens', '{n} steps happen')}</span>`}</label>`),
    submit: ({ values, key }) => post(`${at(model)}/release`, { overdue: values.overdue, captured: 'keep' }, { key }),
  }, { overdue: 'skip' });
  if (done) await reload();
}
