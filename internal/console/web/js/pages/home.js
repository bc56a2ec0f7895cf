// @ts-check
// Home: what needs me, what is in trouble, and what happens next.
import { get, getPage, is, list, patch } from '../api.js';
import { columns } from '../components/chart.js';
import { knownName, resolveAll } from '../components/field.js';
import { button, section, soft, tabs, toast } from '../components/parts.js';
import { html, keyed } from '../dom.js';
import {
  dateTime,
  day,
  foreignZone,
  isoDay,
  longDay,
  shortDay,
  startOfDay,
  time,
  words,
} from '../format.js';
import { go, link, reload } from '../router.js';
import { isWatched, may, session, update } from '../state.js';
import { number, plural, why } from '../text.js';
import { readTroubles, troubles } from '../trouble.js';

const every = 30_000;

/** What is mine, or nobody's: somebody must see it. */
const mineOrNobodys = () => ({
  operator: 'or',
  filters: [is('owner_id', session.me?.user_id), { field: 'owner_id', condition: 'is_empty' }],
});

/** @param {{owner_id?: string | null}} record */
const isMine = (record) => !record.owner_id || record.owner_id === session.me?.user_id;

/**
 * The open tasks that are due before a day.
 * @param {boolean} isAll whether everybody's
 * @param {AbortSignal} signal
 * @param {number} days
 * @param {number} [page_size]
 */
function due(isAll, signal, days, page_size = 1) {
  const before = is('due_at', startOfDay(days).toISOString(), 'is_before');
  const filters = [is('status', 'open'), before, ...(isAll ? [] : [mineOrNobodys()])];
  return list('/v1/tasks/list', { filters, sort: 'due_at', page_size }, { signal });
}

/**
 * What the page knows. cursor is the task that the keys are about.
 * @typedef {Awaited<ReturnType<typeof read>> & {
 *   cursor: number,
 *   timer?: ReturnType<typeof setInterval>,
 * }} Model
 */

/** @param {boolean} isAll whether everybody's @param {AbortSignal} signal */
async function read(isAll, signal) {
  const running = { page_size: 200, filters: [is('status', ['active', 'paused', 'draft'])] };
  const [tasks, campaigns, balance, planned, ...later] = await Promise.all([
    due(isAll, signal, 1, 10),
    list('/v1/campaigns/list', running, { signal }),
    get('/v1/tam/balance', { signal }),
    getPage('/v1/outbox/planned?days=7', { signal }),
    ...[2, 3, 4, 5, 6, 7].map((days) => due(isAll, signal, days)),
  ]);
  void readTroubles();
  const mine = campaigns.data.filter((c) => isAll || isMine(c));
  const contacts = tasks.data.map((task) => task.contact_id).filter(Boolean);
  await resolveAll('contacts', contacts).catch(() => {});
  return {
    isAll,
    tasks,
    balance,
    campaigns: campaigns.data,
    held: mine.filter((c) => c.held).map((c) => /** @type {HeldCampaign} */ (c)),
    replies: await readReplies(mine, signal),
    now: Date.parse(planned.data[0].date ?? ''),
    readAt: Date.now(),
    days: nextDays(
      [tasks, ...later].map((page) => page.pagination.total_count),
      planned.data,
    ),
  };
}

/**
 * Who has replied to campaigns that have not ended.
 * @param {API['Campaign'][]} campaigns
 * @param {AbortSignal} signal
 */
async function readReplies(campaigns, signal) {
  const names = Object.fromEntries(campaigns.map(({ id, name }) => [id, name]));
  if (campaigns.length === 0) return { total: 0, people: [] };
  const filters = [is('reason', 'replied'), is('campaign_id', Object.keys(names))];
  const found = await list('/v1/sequences/list', { filters, page_size: 5 }, { signal });
  return {
    total: found.pagination.total_count,
    people: found.data.map((s) => ({ ...s, campaign: names[s.campaign_id] })),
  };
}

/**
 * The emails and tasks of the next days. What is overdue counts as today.
 * @param {number[]} open the tasks due until each day
 * @param {API['PlannedDay'][]} planned
 */
function nextDays(open, planned) {
  return open.map((n, i) => {
    const at = startOfDay(i);
    const { sends = 0, tasks: steps = 0 } = planned.find((d) => d.date === isoDay(at)) || {};
    const tasks = steps + n - (open[i - 1] || 0);
    return { label: shortDay(at), value: sends + tasks, sends, tasks };
  });
}

/** @type {PageModule<Model>} */
export const homePage = {
  title: () => 'Home',
  async load({ search }, signal) {
    const isAll = search.get('who') === 'all';
    /** @type {Model} */
    const model = { cursor: -1, ...(await read(isAll, signal)) };
    model.timer = setInterval(async () => {
      if (!isWatched()) return;
      Object.assign(model, await read(isAll, signal).catch(() => ({})));
      update();
    }, every);
    return model;
  },
  close: (model) => clearInterval(model.timer),
  keys: (model) => {
    const move = (/** @type {number} */ by) => {
      model.cursor = Math.max(0, Math.min(model.tasks.data.length - 1, model.cursor + by));
      update();
    };
    const task = () => model.tasks.data[model.cursor];
    return {
      j: () => move(1),
      k: () => move(-1),
      d: () => {
        if (task() && may('write')) void complete(task());
      },
      o: () => {
        if (task()) void go(`/tasks/${task().id}`);
      },
    };
  },
  view,
};

/** @param {Model} model */
function view(model) {
  return html`<div class="page">
    <header class="heading">
      <h1 tabindex="-1">${longDay(Date.now())}</h1>
      <span class="soft">${foreignZone()}</span>
    </header>
    ${model.now - model.readAt > 2e8 && fastClock(model)}
    ${model.campaigns.length === 0 && may('write') && firstSteps()}
    ${section('Needs you', needs(model), whose(model))} ${replies(model)} ${nextSevenDays(model)}
    ${section(
      'This month',
      html`<div class="split">
        ${/** @type {const} */ (['accounts', 'contacts']).map((kind) => used(model.balance[kind], kind))}
      </div>`,
    )}
  </div>`;
}

/** @param {Model} model */
function fastClock({ readAt, now }) {
  const text = `Campaigns run on a faster clock here. At ${time(readAt)} it was ${day(now)} for them.`;
  return html`<p class="notice">${text}</p>`;
}

/** How much there is, and the choice between mine and everybody's. @param {Model} model */
function whose({ tasks, held, isAll }) {
  const total = tasks.pagination.total_count;
  const counts = [
    total > 0 && plural(total, '{n} task due', '{n} tasks due'),
    held.length > 0 && plural(held.length, '{n} campaign held', '{n} campaigns held'),
  ].filter(Boolean);
  return html`${soft(counts.join(' · '))}${tabs([
    ['Mine', '/', !isAll],
    ['Everybody’s', '/?who=all', isAll],
  ])}`;
}

/** What is to be done: trouble first, then holds, then tasks. @param {Model} model */
function needs(model) {
  const { tasks, held, isAll } = model;
  const total = tasks.pagination.total_count;
  const isNothing = tasks.data.length + held.length + troubles.now.length === 0;
  const all = `/tasks?f=status:is:open${isAll ? '' : `&f=owner_id:is:${session.me?.user_id}`}`;
  return isNothing
    ? nothingDue(model)
    : html`<ul class="needs">
          ${keyed(troubles.now, (trouble) => trouble.id, troubleRow)}
          ${keyed(held, (c) => c.id, heldRow)}
          ${keyed(
            tasks.data,
            (task) => task.id,
            (task, i) => taskRow(task, i === model.cursor),
          )}
        </ul>
        ${
          total > tasks.data.length &&
          html`<p><a href=${link(all)}>All ${number(total)} tasks</a></p>`
        }`;
}

/** @param {import('../trouble.js').Trouble} trouble */
const troubleRow = ({ title, text, href }) =>
  html`<li>
    <a class="clip" href=${href} dir="auto">${title}</a> <span class="status bad">${text}</span
    ><span></span><a class="button" href=${href}>Show</a>
  </li>`;

/** @param {HeldCampaign} c */
function heldRow(c) {
  const to = link(`/campaigns/${c.id}`);
  return html`<li>
    <a class="clip" href=${to} dir="auto">${c.name}</a>
    <span class="status warn">held: ${why(c.held.reason)}</span>
    <span class="soft nowrap">${c.held.since ? dateTime(c.held.since) : ''}</span>
    <a class="button" href=${to}>Release…</a>
  </li>`;
}

/** @param {API['Task']} task @param {boolean} isCursor */
function taskRow(task, isCursor) {
  const about = [words(task.type), knownName(task.contact_id)];
  const text = about.filter((part) => part && !task.title.includes(part)).join(', ');
  return html`<li class=${isCursor ? 'cursor' : ''}>
    <a class="clip" href=${link(`/tasks/${task.id}`)} dir="auto">${task.title}</a>
    <span class="clip soft" dir="auto">${text}</span
    ><span class="soft nowrap">${dueAt(task.due_at)}</span>
    ${may('write') && button('Done', () => complete(task))}
  </li>`;
}

/** Those who have replied, if there are any. @param {Model} model */
function replies({ replies: { total, people } }) {
  const row = (/** @type {API['Sequence'] & {campaign?: string}} */ s) =>
    html`<li>
      <a class="clip" href=${link(`/contacts/${s.contact_id}`)} dir="auto"
        >${s.contact_name || s.contact_email || 'deleted contact'}</a
      >
      <span class="status good">replied</span><span></span>
      <a
        class="soft clip"
        href=${link(`/campaigns/${s.campaign_id}?status=stopped&reason=replied`)}
        dir="auto"
        >${s.campaign}</a
      >
    </li>`;
  const count = plural(
    total,
    '{n} person in campaigns that go on',
    '{n} people in campaigns that go on',
  );
  return (
    total > 0 &&
    section(
      'Replies',
      html`<ul class="needs">
        ${keyed(people, (s) => s.id, row)}
      </ul>`,
      soft(count),
    )
  );
}

/** @param {string | null} at */
function dueAt(at) {
  if (!at) return '';
  const then = new Date(at);
  return then < startOfDay(0) ? `overdue since ${day(then)}` : time(then);
}

/** @param {Model} model */
function nextSevenDays({ days }) {
  const sum = (/** @type {'value' | 'sends' | 'tasks'} */ key) =>
    days.reduce((n, d) => n + d[key], 0);
  const counts = [
    plural(sum('sends'), '{n} email', '{n} emails'),
    plural(sum('tasks'), '{n} task', '{n} tasks'),
  ];
  const nothing = soft('Nothing is planned. A running campaign shows here what it sends.');
  return section(
    'Next 7 days',
    sum('value') === 0 ? nothing : columns(days),
    soft(counts.join(' · ')),
  );
}

/** @param {API['BalanceCounter']} balance @param {string} kind */
function used(balance, kind) {
  const text =
    balance.limit !== null
      ? `of ${number(balance.limit)} ${kind} from markets`
      : `${kind} from markets, without a limit`;
  return html`<div>
    <div class="metric">${number(balance.used)}</div>
    <div class="soft">${text}</div>
  </div>`;
}

/** What an organization without campaigns does first. */
function firstSteps() {
  const all = [
    ['/market', 'Describe a market', 'to find companies and people'],
    ['/contacts', 'Add contacts', 'that you know already'],
    ['/templates', 'Write a template', 'with the steps of a sequence'],
    ['/campaigns', 'Start a campaign', 'that sends it'],
  ];
  const rows = all.map(
    ([to, title, note]) => html`<li><a href=${link(to)}>${title}</a> ${soft(note)}</li>`,
  );
  return section(
    'First steps',
    html`<ol class="list">
      ${rows}
    </ol>`,
  );
}

/** @param {Model} model */
function nothingDue({ days }) {
  const next = days.find((d) => d.value > 0);
  return html`<p class="soft">
    ${
      next
        ? `Nothing needs you. The next steps are due on ${next.label}.`
        : 'Nothing needs you, and nothing is planned for the next seven days.'
    }
  </p>`;
}

/** The tasks that were completed here: a second click does nothing. @type {Set<string>} */
const completed = new Set();

/** @param {API['Task']} task */
async function complete(task) {
  if (completed.has(task.id)) return;
  completed.add(task.id);
  await patch(`/v1/tasks/${task.id}`, { status: 'completed' });
  const undo = async () => {
    completed.delete(task.id);
    await patch(`/v1/tasks/${task.id}`, { status: 'open' });
    await reload();
  };
  toast(`Done: ${task.title}`, { undo });
  await reload();
}
