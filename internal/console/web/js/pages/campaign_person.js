// @ts-check
// One person of a campaign: the whole reason, every step, and what can be put right.
import { ApiError, post } from '../api.js';
import { confirm, form } from '../components/dialog.js';
import { field } from '../components/field.js';
import { beside, button, pairs, status, table, toast, when } from '../components/parts.js';
import { html } from '../dom.js';
import { because, fromInput } from '../format.js';
import { link, reload } from '../router.js';
import { may } from '../state.js';
import { plural } from '../text.js';
import { nameOf, peek, reasonOf, stateOf, stepName } from './campaign_people.js';

/** @typedef {import('./campaigns.js').Model} Model */

/** The person beside the table. @param {Model} model */
export function person(model) {
  const row = model.table.records().find((r) => r.id === model.open);
  const s = row || model.person;
  if (!model.open || !s) return null;
  const contact =
    !s.contact_deleted &&
    html`<a class="button" href=${link(`/contacts/${s.contact_id}`)}>Contact</a>`;
  const facts = pairs([
    ['Status', stateOf(s)],
    ['Why', html`<span class="reason">${reasonOf(s)}</span>`],
    ['Next', when(s.next_due_at)],
    ['Address', s.contact_email || '—'],
  ]);
  return beside(
    nameOf(s),
    contact,
    () => peek(model),
    html`${facts} ${may('write') && html`<div class="buttons">${actions(model, s)}</div>`}
    ${s.history.length > 0 && steps(model, s)}`,
  );
}

/** What can be done for the person. @param {Model} model @param {API['Sequence']} s */
function actions(model, s) {
  const isRunning = ['active', 'paused'].includes(model.campaign.status);
  if (s.status === 'active') {
    return html`${waiting(s).length > 0 && button('Skip a step…', () => skip(model, s))}
    ${button('Postpone…', () => postpone(s))}${button('Stop…', () => stop(s))}`;
  }
  const canRestart = isRunning && ['stopped', 'completed'].includes(s.status);
  return canRestart && button('Restart…', () => restart(s));
}

/** The steps that have not happened. @param {API['Sequence']} s @returns {API['HistoryStep'][]} */
const waiting = (s) => s.history.filter((h) => h.status === 'waiting' || h.status === 'held');

/** @param {Model} model @param {API['Sequence']} s */
function steps(model, s) {
  const rows = s.history.map((h) => [
    html`<strong>${stepName(model, h.step_index)}</strong><br />${status(h.status)}`,
    html`${when(h.at || h.due_at)}<br /><span class="soft">${because(h.reason)}</span> ${
        h.message_id &&
        html`<br /><a href=${link(`/outbox?open=${h.message_id}`)}>Show the email</a>`
      }
      ${h.task_id && html`<br /><a href=${link(`/tasks/${h.task_id}`)}>Open the task</a>`}`,
  ]);
  return table(['Step', 'When and why'], rows);
}

/**
 * Does something with a sequence and shows what became of it.
 * @param {API['Sequence']} s
 * @param {'stop' | 'skip' | 'postpone' | 'restart'} what
 * @param {Record<string, unknown>} body
 * @param {string} done
 */
async function act(s, what, body, done) {
  const after = await post(`/v1/sequences/${s.id}/${what}`, body);
  toast(done);
  await reload();
  return after;
}

/** @param {API['Sequence']} s */
async function stop(s) {
  const title = `Stop writing to ${nameOf(s)}?`;
  const text =
    'The remaining steps of this campaign do not happen for this person. You can restart them later.';
  if (!(await confirm({ title, text, action: 'Stop the sequence', danger: true }))) return;
  await act(s, 'stop', { reason: 'manual' }, `Nothing more goes to ${nameOf(s)}`);
}

/** @param {Model} model @param {API['Sequence']} s */
async function skip(model, s) {
  const choices = waiting(s).map(({ step_index: n }) => ({
    value: String(n),
    label: stepName(model, n),
  }));
  await form(
    {
      title: `Skip a step for ${nameOf(s)}`,
      action: 'Skip the step',
      body: (state) =>
        html`${field(state, {
            name: 'step_index',
            label: 'Step',
            required: true,
            options: choices,
          })}
          <p class="soft">
            It does not happen, and cannot be taken back. The next step follows as if it had.
          </p>`,
      submit: ({ values }) =>
        act(s, 'skip', { step_index: Number(values.step_index) }, 'The step is skipped'),
    },
    { step_index: choices[0].value },
  );
}

/** @param {API['Sequence']} s */
async function postpone(s) {
  await form({
    title: `Postpone what comes next for ${nameOf(s)}`,
    action: 'Postpone',
    isReady: ({ values }) => Boolean(values.until),
    body: (state) =>
      field(state, { name: 'until', label: 'Nothing before', type: 'datetime', required: true }),
    submit: ({ values }) => act(s, 'postpone', { until: fromInput(values.until) }, 'Postponed'),
  });
}

/**
 * Asks from where to go on. Emails that were sent are repeated only if somebody says so.
 * @param {API['Sequence']} s
 */
async function restart(s) {
  const sent = s.history.filter((h) => ['sent', 'unknown'].includes(h.status)).length;
  const repeats = plural(
    sent,
    '{n} email goes out a second time',
    '{n} emails go out a second time',
  );
  const choices = [
    ...(s.status === 'stopped' ? [['next', 'Go on with the first step that was not sent']] : []),
    ['start', sent > 0 ? `Begin again: ${repeats}` : 'Begin again with the first step'],
  ];
  await form({
    title: `Restart ${nameOf(s)}`,
    action: 'Restart',
    isReady: ({ values }) => Boolean(values.from),
    body: (state) =>
      html`<fieldset class="choices">
        <legend>From where?</legend>
        ${choices.map(
          ([value, text]) =>
            html`<label class="check"
              ><input
                type="radio"
                name="from"
                value=${value}
                .checked=${state.values.from === value}
                @change=${() => state.set('from', value)}
              />
              <span>${text}</span></label
            >`,
        )}
      </fieldset>`,
    submit: async ({ values: { from } }) => {
      const begin = (/** @type {Record<string, unknown>} */ body) =>
        act(s, 'restart', body, `${nameOf(s)} is active again`);
      try {
        return await begin({ from, ...(from === 'start' && sent > 0 ? { repeat: true } : {}) });
      } catch (error) {
        if (!(error instanceof ApiError) || error.details[0]?.path !== 'repeat') throw error;
        await askRepeat();
        return begin({ from, repeat: true });
      }
    },
  });
}

/**
 * Asks about the emails of runs before the sequence began again, and fails if they must not be
 * repeated.
 */
async function askRepeat() {
  const isSure = await confirm({
    title: 'Send emails a second time?',
    text: 'The sequence has begun again before. Emails that went out then go out once more.',
    action: 'Restart',
    danger: true,
  });
  if (!isSure) throw new ApiError(409, 'declined', 'Nothing was changed.');
}
