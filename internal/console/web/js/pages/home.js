// @ts-check
// Home: what needs me, and what happens next.
import { get, getPage, is, list, patch } from '../api.js';
import { columns } from '../components/chart.js';
import { resolveAll, knownName } from '../components/field.js';
import { button, section, soft, toast } from '../components/parts.js';
import { html, keyed } from '../dom.js';
import { dateTime, day, foreignZone, isoDay, longDay, shortDay, startOfDay, time, words } from '../format.js';
import { go, link, reload } from '../router.js';
import { isWatched, may, update } from '../state.js';
import { number, t, tn, why } from '../text.js';

const every = 30_000;

/** @param {AbortSignal} signal */
async function read(signal) {
  const due = (/** @type {number} */ days, page_size = 1) => list('/v1/tasks/list', { filters: [is('status', 'open'), is('due_at', startOfDay(days).toISOString(), 'is_before')], sort: 'due_at', page_size }, { signal });
  const [tasks, campaigns, balance, planned, ...later] = await Promise.all([
    due(1, 10),
    list('/v1/campaigns/list', { page_size: 200, filters: [is('status', ['active', 'paused', 'draft'])] }, { signal }),
    get('/v1/tam/balance', { signal }),
    getPage('/v1/outbox/planned?days=7', { signal }),
    ...[2, 3, 4, 5, 6, 7].map((days) => due(days)),
  ]);
  const open = [tasks, ...later].map((page) => page.pagination.total_count);
  await resolveAll('contacts', tasks.data.map((task) => task.contact_id).filter(Boolean)).catch(() => {});
  return {
    tasks, balance, campaigns: campaigns.data,
    held: campaigns.data.filter((c) => c.held), now: Date.parse(planned.data[0].date), readAt: Date.now(),
    days: open.map((n, i) => {
      const at = startOfDay(i);
      const { sends = 0, tasks: steps = 0 } = planned.data.find((d) => d.date === isoDay(at)) || {};
      const dueThen = steps + n - (open[i - 1] || 0); // what is overdue counts as today
      return { label: shortDay(at), value: sends + dueThen, sends, tasks: dueThen };
    }),
  };
}

/** @type {PageModule} */
export const homePage = {
  title: () => t('Home'),
  async load(_params, signal) {
    const model = /** @type {any} */ ({ cursor: -1, ...(await read(signal)) });
    model.timer = setInterval(async () => {
      if (!isWatched()) return;
      Object.assign(model, await read(signal).catch(() => ({})));
      update();
    }, every);
    return model;
  },
  close: (model) => clearInterval(model.timer),
  keys: (model) => {
    const move = (/** @type {number} */ by) => { model.cursor = Math.max(0, Math.min(model.tasks.data.length - 1, model.cursor + by)); update(); };
    const task = () => model.tasks.data[model.cursor];
    return { j: () => move(1), k: () => move(-1), d: () => { if (task() && may('write')) void complete(task()); }, o: () => { if (task()) void go(`/tasks/${task().id}`); } };
  },
  view,
};

/** @param {Item} model */
function view(model) {
  const { tasks, held, balance, days } = model;
  const total = tasks.pagination.total_count;
  const needs = [total > 0 && tn(total, '{n} task due', '{n} tasks due'), held.length > 0 && tn(held.length, '{n} campaign held', '{n} campaigns held')].filter(Boolean);
  const sum = (/** @type {string} */ key) => days.reduce((/** @type {number} */ n, /** @type {Item} */ d) => n + d[key], 0);
  return html`<div class="page">
    <header class="heading"><h1 tabindex="-1">${longDay(Date.now())}</h1><span class="soft">${foreignZone()}</span></header>
    ${model.now - model.readAt > 2e8 && html`<p class="notice">${t('Campaigns run on a faster clock here. At {time} it was {day} for them.', { time: time(model.readAt), day: day(model.now) })}</p>`}
    ${model.campaigns.length === 0 && may('write') && section(t('First steps'), html`<ol class="list">${firstSteps.map(([to, title, note]) => html`<li><a href=${link(to)}>${title}</a> <span class="soft">${note}</span></li>`)}</ol>`)}
    ${section(t('Needs you'), tasks.data.length + held.length === 0 ? nothingDue(model) : html`<ul class="needs">
        ${keyed(held, (c) => c.id, (c) => html`<li><a class="clip" href=${link(`/campaigns/${c.id}`)} dir="auto">${c.name}</a>
          <span class="status warn">${t('held: {reason}', { reason: why(c.held.reason) })}</span><span class="soft nowrap">${c.held.since ? dateTime(c.held.since) : ''}</span>
          <a class="button" href=${link(`/campaigns/${c.id}`)}>${t('Release…')}</a></li>`)}
        ${keyed(tasks.data, (task) => task.id, (task, i) => html`<li class=${i === model.cursor ? 'cursor' : ''}><a class="clip" href=${link(`/tasks/${task.id}`)} dir="auto">${task.title}</a>
          <span class="clip soft" dir="auto">${[words(task.type), knownName(task.contact_id)].filter((text) => text && !task.title.includes(text)).join(', ')}</span><span class="soft nowrap">${dueAt(task.due_at)}</span>
          ${may('write') && button(t('Done'), () => complete(task))}</li>`)}
      </ul>
      ${total > tasks.data.length && html`<p><a href=${link('/tasks?f=status:is:open')}>${t('All {n} tasks', { n: total })}</a></p>`}`, html`<span class="soft">${needs.join(' · ')}</span>`)}
    ${section(t('Next 7 days'), sum('value') === 0 ? soft(t('Nothing is planned. A running campaign shows here what it sends.')) : columns(days), html`<span class="soft">${[tn(sum('sends'), '{n} email', '{n} emails'), tn(sum('tasks'), '{n} task', '{n} tasks')].join(' · ')}</span>`)}
    ${section(t('This month'), html`<div class="split">${['accounts', 'contacts'].map((kind) => html`<div><div class="metric">${number(balance[kind].used)}</div>
        <div class="soft">${balance[kind].limit !== null
          ? t('of {limit} {kind} from markets', { limit: balance[kind].limit, kind }) : t('{kind} from markets, without a limit', { kind })}</div></div>`)}</div>`)}
  </div>`;
}

/** @param {string | null} at */
function dueAt(at) {
  if (!at) return '';
  const due = new Date(at);
  return due < startOfDay(0) ? t('overdue since {when}', { when: day(due) }) : time(due);
}

const firstSteps = [['/market', t('Describe a market'), t('to find companies and people')], ['/contacts', t('Add contacts'), t('that you know already')],
  ['/templates', t('Write a template'), t('with the steps of a sequence')], ['/campaigns', t('Start a campaign'), t('that sends it')]];

/** @param {Item} model */
function nothingDue(model) {
  const next = model.days.find((/** @type {Item} */ d) => d.value > 0);
  return html`<p class="soft">${next ? t('Nothing needs you. The next steps are due on {day}.', { day: next.label }) : t('Nothing needs you, and nothing is planned for the next seven days.')}</p>`;
}

/** The tasks that were completed here: a second click does nothing. @type {Set<string>} */
const completed = new Set();

/** @param {Item} task */
async function complete(task) {
  if (completed.has(task.id)) return;
  completed.add(task.id);
  await patch(`/v1/tasks/${task.id}`, { status: 'completed' });
  toast(t('Done: {title}', { title: task.title }), { undo: async () => { completed.delete(task.id); await patch(`/v1/tasks/${task.id}`, { status: 'open' }); await reload(); } });
  await reload();
}
