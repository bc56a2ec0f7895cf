// @ts-check
// A campaign: start safely, and account for every person.
import { get } from '../api.js';
import { bars, columns, stacked } from '../components/chart.js';
import { knownName, resolve } from '../components/field.js';
import { button, heading, menu, section, soft, status } from '../components/parts.js';
import { html } from '../dom.js';
import { dateTime, shortDay } from '../format.js';
import { current, link, reload } from '../router.js';
import { isWatched, may, update } from '../state.js';
import { number, plural, why } from '../text.js';
import {
  addAudience,
  admit,
  at,
  deleteCampaign,
  editCampaign,
  end,
  retry,
  setStatus,
  transportOf,
} from './campaign_actions.js';
import { clone, correctTemplate, reopen, restartMany } from './campaign_again.js';
import { addressOf, peek, people, peopleBar, readPerson, stepName } from './campaign_people.js';
import { person } from './campaign_person.js';
import { planAgain, simulate, start } from './campaign_start.js';
import { openHistory } from './history.js';
import { release } from './release.js';

const every = 5000; // milliseconds between two readings of a running campaign

/**
 * What the page knows. status, reason, q and open are those of the address: which people the table
 * has, and who of them is shown beside it.
 * @typedef {{
 *   campaign: Campaign,
 *   stats: API['CampaignStats'],
 *   template: API['Template'] | null,
 *   status: string,
 *   reason: string,
 *   q: string,
 *   open: string,
 *   person: API['Sequence'] | null,
 *   table: import('../components/table.js').Table<API['Sequence']>,
 *   plan: API['SimulationSummary'] | null,
 *   plannedFor: string,
 *   planAfter: number,
 *   timer?: ReturnType<typeof setTimeout>,
 * }} Model
 */

/** @type {PageModule<Model>} */
export const campaignPage = {
  title: (model) => model.campaign.name,
  async load(params, signal, previous) {
    const now = await read(params, signal);
    /** @type {Model} */
    const model = previous
      ? Object.assign(previous, now)
      : { ...now, table: people(() => model), plan: null, plannedFor: '', planAfter: 0 };
    void model.table.refresh({ first: params.row }).catch(() => {});
    planAgain(model);
    clearTimeout(model.timer);
    if (now.campaign.status === 'active') model.timer = setTimeout(() => void follow(model), every);
    return model;
  },
  view,
  close: (model) => {
    clearTimeout(model.timer);
    model.table.close();
  },
  keys: (model) => ({
    s: () => void simulate(model),
    p: () => {
      if (model.campaign.status === 'active') void setStatus(model, 'paused');
    },
    o: () => peek(model, model.open ? null : model.table.record(model.table.cursor)),
    Escape: () => peek(model),
    '/': () => document.getElementById('search')?.focus(),
    ...model.table.keys((s) => peek(model, s)),
  }),
  actions: (model) => [{ label: 'Simulate', act: () => simulate(model) }],
};

/**
 * Reads the campaign of the address.
 * @param {Params} params
 * @param {AbortSignal} signal
 */
async function read({ args, search }, signal) {
  const path = /** @type {const} */ (`/v1/campaigns/${args.id}`);
  const [campaign, stats] = await Promise.all([
    get(path, { signal }),
    get(`${path}/stats`, { signal }),
  ]);
  const open = search.get('open') || '';
  const [template, found] = await Promise.all([
    campaign.template_id ? get(`/v1/sequence-templates/${campaign.template_id}`, { signal }) : null,
    open ? readPerson(path, open, signal) : null,
    campaign.owner_id && resolve('users', campaign.owner_id).catch(() => ''),
  ]);
  return {
    campaign,
    stats,
    template,
    status: search.get('status') || '',
    reason: search.get('reason') || '',
    q: search.get('q') || '',
    open,
    person: found,
  };
}

/**
 * Reads the counts and the people of a running campaign again while somebody looks.
 * @param {Model} model
 */
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

/** @param {Model} model */
function view(model) {
  const { campaign: c } = model;
  return html`<div class="page list-page">
    ${heading({
      up: ['/campaigns', 'Campaigns'],
      title: c.name,
      note: note(c),
      actions: actions(model),
    })}
    ${c.held && heldNotice(c, c.held)} ${c.newcomers > 0 && newcomersNotice(model)} ${sum(model)}
    <div class="split">${steps(model)}${plan(model)}</div>
    ${peopleBar(model)}
    <div class="beside">${model.table.element}${person(model)}</div>
  </div>`;
}

/** What the campaign does, for whom, and how. @param {API['Campaign']} c */
function note(c) {
  const sender = knownName(c.owner_id);
  const facts = [
    c.audiences.map((a) => a.name).join(', '),
    transportOf(c.transport),
    sender && `from ${sender}`,
  ].filter(Boolean);
  const template = html`<a href=${link(`/templates/${c.template_id}`)} dir="auto"
    >${c.template_name}</a
  >`;
  return html`${status(c.held ? 'held' : c.status)} · ${template}
  ${facts.map((fact) => ` · ${fact}`)}`;
}

/** @param {Model} model */
function actions(model) {
  const { campaign: c, stats: s } = model;
  const hasEnded = ['completed', 'archived'].includes(c.status);
  const canStart = !c.held && ['draft', 'paused'].includes(c.status);
  return html`${button('Simulate', () => simulate(model))}
  ${
    may('write') &&
    html`${!hasEnded && button('Add people…', () => addAudience(model))}
    ${s.messages_failed > 0 && button('Retry…', () => retry(model))}
    ${c.status === 'active' && button('Pause', () => setStatus(model, 'paused'))}
    ${hasEnded && button('Reopen…', () => reopen(model))}
    ${c.status === 'draft' && button('Delete…', () => deleteCampaign(model), 'danger')}
    ${menu('More', more(model))}
    ${
      canStart &&
      button(c.status === 'paused' ? 'Resume…' : 'Start…', () => start(model), 'primary')
    }`
  }`;
}

/** What is done rarely. @param {Model} model */
function more(model) {
  const { status: now } = model.campaign;
  const isRunning = now === 'active' || now === 'paused';
  return [
    item('Name and sender…', () => editCampaign(model)),
    isRunning && item('Use the newest text…', () => correctTemplate(model)),
    isRunning && model.stats.stopped > 0 && item('Restart people…', () => restartMany(model)),
    item('Copy…', () => clone(model)),
    isRunning && item('Complete…', () => end(model, 'completed')),
    now !== 'archived' && item('Archive…', () => end(model, 'archived')),
    item('History', () => openHistory('campaigns', model.campaign.name, at(model))),
    now === 'archived' && item('Delete…', () => deleteCampaign(model)),
  ];
}

/** @param {string} label @param {() => unknown} act */
const item = (label, act) => button(label, act, 'plain item');

/** @param {Campaign} c @param {API['Hold']} held */
function heldNotice(c, held) {
  const reason = why(held.reason);
  const text = held.since
    ? `Held since ${dateTime(held.since)}: ${reason}. Nothing is sent.`
    : `Held: ${reason}. Nothing is sent.`;
  const releaseIt = async () => {
    if (await release(c)) await reload();
  };
  return html`<div class="notice warn">
    <span class="grow">${text}${held.detail && html`<br />${soft(held.detail)}`}</span>
    ${may('write') && button('Release…', releaseIt)}
  </div>`;
}

/** People whom one change brought in, and whom nobody has admitted yet. @param {Model} model */
function newcomersNotice(model) {
  const { newcomers: n, status: now } = model.campaign;
  const text = plural(
    n,
    '{n} person came in by a change of many contacts and gets nothing until you admit them.',
    '{n} people came in by a change of many contacts and get nothing until you admit them.',
  );
  const canAdmit = may('write') && (now === 'active' || now === 'paused');
  return html`<div class="notice warn">
    <span class="grow">${text}</span>
    ${canAdmit && button(plural(n, 'Admit {n} person…', 'Admit {n} people…'), () => admit(model))}
  </div>`;
}

/**
 * Everybody who is enrolled, as a sum and as one bar. Those who replied come first.
 * @param {Model} model
 */
function sum(model) {
  const { stats: s } = model;
  const { replied = 0, ...others } = s.stopped_by_reason;
  const reasons = Object.entries(others).map(
    ([reason, n]) => `${number(Number(n))} ${why(reason)}`,
  );
  const stopped = `${number(s.stopped - replied)} stopped${reasons.length ? ` (${reasons.join(', ')})` : ''}`;
  const terms = [
    replied > 0 && `${number(replied)} replied`,
    `${number(s.active)} active`,
    `${number(s.completed)} completed`,
    stopped,
    `${number(s.not_started)} not started`,
  ].filter(Boolean);
  const part = (
    /** @type {string} */ label,
    /** @type {number} */ value,
    /** @type {string} */ color,
    /** @type {import('./campaign_people.js').Choice} */ to,
  ) => ({
    label,
    value,
    className: `fill-${color}`,
    href: link(addressOf(model, { reason: '', ...to })),
  });
  return html`<div class="section">
    <p>${number(s.enrolled)} enrolled = ${terms.join(' + ')}</p>
    ${stacked([
      part('replied', replied, 'good', { status: 'stopped', reason: 'replied' }),
      part('active', s.active, 'accent', { status: 'active' }),
      part('completed', s.completed, 'done', { status: 'completed' }),
      part('stopped', s.stopped - replied, 'bad', { status: 'stopped' }),
      part('not started', s.not_started, 'soft', { status: 'not_started' }),
    ])}
  </div>`;
}

/** The steps, each with its share of everybody. @param {Model} model */
function steps(model) {
  const { stats: s } = model;
  const rows = s.steps.map((step) => ({
    label: stepName(model, step.step_index),
    value: step.done,
    text: `${number(step.done)} of ${number(s.enrolled)}`,
    action: soft(stepNote(step)),
  }));
  const totals = [
    plural(s.messages_sent, '{n} email sent', '{n} emails sent'),
    s.messages_captured > 0 && `${number(s.messages_captured)} captured`,
    s.messages_failed > 0 && `${number(s.messages_failed)} failed`,
  ].filter(Boolean);
  return section('Steps', bars(rows, Math.max(1, s.enrolled)), soft(totals.join(', ')));
}

/** @param {API['StepStats']} step */
const stepNote = (step) =>
  /** @type {const} */ (['waiting', 'held', 'failed', 'skipped'])
    .filter((key) => step[key] > 0)
    .map((key) => `${number(step[key])} ${key}`)
    .join(', ');

/** What happens on the next days. @param {Model} model */
function plan({ plan: p }) {
  if (!p) return section('Plan', html`<div class="skeleton body"></div>`);
  const days = p.per_day.slice(0, 10).map((d) => ({
    label: shortDay(`${d.date}T12:00:00Z`),
    value: d.sends + d.tasks,
  }));
  const text = p.last_at
    ? `emails and tasks per day, the last ${dateTime(p.last_at)}`
    : 'nothing is left to do';
  return section('Plan', days.length > 0 ? columns(days) : '', soft(text));
}
