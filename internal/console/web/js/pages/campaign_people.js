// @ts-check
// The people of a campaign: a table with status and reason, and one person beside it with every
// step.
import { get, is, list } from '../api.js';
import { empty, status, tabs, when } from '../components/parts.js';
import { column, Table } from '../components/table.js';
import { html } from '../dom.js';
import { because, dateTime, words } from '../format.js';
import { encode } from '../query.js';
import { link, setSearch } from '../router.js';
import { update } from '../state.js';
import { number, why } from '../text.js';

/** @typedef {import('./campaigns.js').Model} Model */

/** Whom the address shows. @typedef {{status?: string, reason?: string, open?: string}} Choice */

/**
 * The name of a step: its title, or its number if the template does not have it any more.
 * @param {Model} model
 * @param {number} index
 */
export function stepName(model, index) {
  const step = model.template?.steps.find((s) => s.index === index);
  return step?.title ? `${String(index + 1)}. ${step.title}` : `Step ${number(index + 1)}`;
}

/** The address of the people in a state. @param {Model} model @param {Choice} [change] */
export function addressOf({ campaign, q, status: only, reason }, change = {}) {
  return `/campaigns/${campaign.id}${encode({ q }, { status: only, reason, ...change })}`;
}

/**
 * The table of people.
 * @param {() => Model} modelOf returns the model, which has the table
 * @returns {Table<API['Sequence']>}
 */
export function people(modelOf) {
  return new Table({
    label: 'People',
    fetch: (page, page_size, signal) => read(modelOf(), page, page_size, signal),
    columns: [
      column('name', 'Name', 200, nameOf),
      column('status', 'Status', 130, stateOf),
      column('step', 'Step', 160, (s) =>
        s.current_step_index === null ? '' : stepName(modelOf(), s.current_step_index),
      ),
      column('due', 'Next', 150, (s) => when(s.next_due_at)),
      column('why', 'Why', 420, shortReason),
    ],
    empty: () => empty(nobody(modelOf())),
    onOpen: (s) => peek(modelOf(), s),
    onCursor: (s) => {
      if (modelOf().open) peek(modelOf(), s);
    },
    onLoad: update,
  });
}

/**
 * @param {Model} model
 * @param {number} page
 * @param {number} page_size
 * @param {AbortSignal} signal
 */
async function read(model, page, page_size, signal) {
  const path = /** @type {const} */ (`/v1/campaigns/${model.campaign.id}`);
  const filters = /** @type {const} */ (['status', 'reason'])
    .filter((name) => model[name])
    .map((name) => is(name, model[name]));
  const query = { page, page_size, filters, ...(model.q ? { search: model.q } : {}) };
  const found = await list(`${path}/sequences/list`, query, { signal });
  if (found.pagination.total_count > model.stats.enrolled) {
    // the counts must not say less than the table shows
    model.stats = await get(`${path}/stats`, { signal });
    update();
  }
  return found;
}

/** @param {Model} model */
function nobody({ q, status: only, campaign }) {
  if (q) return 'Nobody of this campaign has this name or address.';
  if (only) return 'Nobody is in this state.';
  return campaign.status === 'active'
    ? 'Nobody is enrolled yet. People of the audience come in one after another.'
    : 'Nobody is enrolled yet. People of the audience come in when you start the campaign.';
}

/** @param {API['Sequence']} s */
export const nameOf = (s) => s.contact_name || s.contact_email || 'deleted contact';

/** @param {API['Sequence']} s */
export const stateOf = (s) => status(s.reason === 'replied' ? 'replied' : s.status);

/** The task that a sequence waits for. @param {API['Sequence']} s */
function openTask(s) {
  if (s.status !== 'active') return null;
  return s.history.find((h) => h.status === 'task_open' && h.task_id);
}

/**
 * Why a sequence is where it is, in the order in which a person asks: what it waits for comes
 * first.
 * @param {API['Sequence']} s
 */
export function reasonOf(s) {
  if (s.status === 'completed') return 'all steps are done';
  const task = openTask(s);
  if (task) return `waits for a task that is due ${dateTime(task.due_at ?? 0)}`;
  const said = /^the sequence was stopped/; // the reason of the sequence says it
  const parts = because(s.history.at(-1)?.reason)
    .split('; ')
    .reverse()
    .filter((part) => !said.test(part));
  return [s.reason && words(why(s.reason)), ...parts].filter(Boolean).join('; ');
}

/** The reason in a cell, which has all of it as a tooltip. @param {API['Sequence']} s */
function shortReason(s) {
  const task = openTask(s);
  return html`<span title=${reasonOf(s)}>${reasonOf(s)}</span>
    ${task && html` · <a href=${link(`/tasks/${task.task_id}`)}>Open the task</a>`}`;
}

/** Shows a person beside the table, or nobody. @param {Model} model @param {API['Sequence'] | null} [s] */
export function peek(model, s) {
  model.open = s?.id || '';
  model.person = s || null;
  setSearch(new URL(link(addressOf(model, { open: model.open })), location.origin).search);
  update();
}

/**
 * Reads the person of the address, who may be on another page of the table.
 * @param {`/v1/campaigns/${string}`} path
 * @param {string} id
 * @param {AbortSignal} signal
 */
export async function readPerson(path, id, signal) {
  const query = { page_size: 1, filters: [is('id', id)] };
  const { data } = await list(`${path}/sequences/list`, query, { signal });
  return data[0] || null;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;

/** What is above the table: the search, the states and their reasons. @param {Model} model */
export function peopleBar(model) {
  const { stats: s, status: only } = model;
  const states = ['', 'active', 'completed', 'stopped', 'not_started'];
  /** @type {Record<string, Record<string, number>>} */
  const reasons = { stopped: s.stopped_by_reason, not_started: s.not_started_by_reason };
  const found = Object.keys(reasons[only] || {});
  return html`<div class="toolbar">
    <h2>People</h2>
    <input
      id="search"
      class="search"
      type="search"
      dir="auto"
      aria-label="Search people"
      placeholder="Search people"
      .value=${model.q}
      @input=${(e) => searchSoon(model, e.target.value)}
    />
    ${tabs(
      states.map((value) => [
        value ? words(value) : 'All',
        addressOf(model, { status: value, reason: '' }),
        only === value,
      ]),
    )}
    ${found.map((reason) => {
      const isOn = model.reason === reason;
      return html`<a
        class=${isOn ? 'chip on' : 'chip'}
        href=${link(addressOf(model, { reason: isOn ? '' : reason }))}
        >${words(why(reason))}</a
      >`;
    })}
  </div>`;
}

/** @param {Model} model @param {string} q */
function searchSoon(model, q) {
  clearTimeout(typing);
  typing = setTimeout(() => {
    model.q = q;
    peek(model);
    void model.table.refresh({ first: 0 }).catch(() => {});
  }, 150);
}
