// @ts-check
// What goes on, or is done once more: reopening a campaign, copying it, giving it the newest text,
// restarting people.
import { post } from '../api.js';
import { form, open } from '../components/dialog.js';
import { field, nameOf } from '../components/field.js';
import { button, toast } from '../components/parts.js';
import { html } from '../dom.js';
import { follow } from '../foot.js';
import { day, isoDay, words } from '../format.js';
import { go, reload } from '../router.js';
import { number, plural, why } from '../text.js';
import { activeAudiences, at, options } from './campaign_actions.js';
import { keptBecause, sentences, titleOf } from './undo.js';

/** @typedef {import('./campaigns.js').Model} Model */

/** Takes back that a campaign was completed or archived. @param {Model} model */
export async function reopen(model) {
  const { campaign: c, stats } = model;
  const { campaign_ended: ended = 0, campaign_archived: archived = 0 } = stats.stopped_by_reason;
  const hasPassed = c.end_date !== null && c.end_date < isoDay(Date.now());
  const done = await form({
    title: `Reopen ${c.name}?`,
    action: 'Reopen the campaign',
    className: 'narrow',
    body: (state) =>
      html`<p>${goOn(ended + archived)} Nothing is sent until you resume it.</p>
        ${hasPassed && endDate(state, c.end_date ?? '')}`,
    submit: ({ values, key }) =>
      post(`${at(model)}/reopen`, hasPassed ? { end_date: values.end_date || null } : {}, { key }),
  });
  if (!done) return;
  toast('The campaign is paused. Resume it when you are ready.');
  model.plan = null;
  await reload();
}

/** @param {number} n those whom the end of the campaign has stopped */
const goOn = (n) =>
  n > 0
    ? plural(
        n,
        '{n} person who was stopped by its end goes on where they were, unless they have opted out or left since.',
        '{n} people who were stopped by its end go on where they were, unless they have opted out or left since.',
      )
    : 'Nobody was stopped by its end.';

/** @param {FormState} state @param {string} passed */
const endDate = (state, passed) =>
  field(state, {
    name: 'end_date',
    label: 'New last day',
    type: 'date',
    help: `${day(`${passed}T12:00:00Z`)} has passed. Without a day, the campaign has no end.`,
  });

/** Makes a draft with the template and the settings of a campaign. @param {Model} model */
export async function clone(model) {
  const { campaign: c } = model;
  const people = await activeAudiences();
  const made = await form(
    {
      title: `Copy ${c.name}`,
      action: 'Create draft',
      body: (state) =>
        html`${field(state, { name: 'name', required: true })} ${audiencesOf(state, people)}
          <p class="soft">
            The copy has the template, the sender and the settings, and nobody of this campaign.
            Nothing is sent until you press Start.
          </p>`,
      submit: ({ values: { name, audience_ids }, key }) =>
        post(`${at(model)}/clone`, { name, audience_ids }, { key }),
    },
    { name: `${c.name}, copy`, audience_ids: [] },
  );
  if (made) await go(`/campaigns/${made.id}`);
}

/**
 * A choice of several audiences: each that is chosen, and a list of the others.
 * @param {FormState} state
 * @param {API['Audience'][]} people
 */
function audiencesOf(state, people) {
  /** @type {string[]} */
  const chosen = state.values.audience_ids;
  const set = (/** @type {string[]} */ ids) => state.set('audience_ids', ids);
  const others = people.filter(({ id }) => !chosen.includes(id));
  const error = state.errors.audience_ids;
  return html`<div class="field">
    <label for="audiences">Audiences</label>
    ${
      chosen.length > 0 &&
      html`<span class="chips"
        >${chosen.map((id) => {
          const name = nameOf(people.find((a) => a.id === id) || { id });
          return html`<span class="chip on" dir="auto"
            >${name}
            <button
              type="button"
              aria-label=${`Remove: ${name}`}
              @click=${() => set(chosen.filter((other) => other !== id))}
            >
              ×
            </button></span
          >`;
        })}</span
      >`
    }
    <select
      id="audiences"
      data-field="audience_ids"
      aria-invalid=${error ? 'true' : null}
      @change=${(e) => {
        const { value } = e.target;
        e.target.value = '';
        if (value) set([...chosen, value]);
      }}
    >
      <option value="" .selected=${true}>${chosen.length > 0 ? 'Add another…' : 'Choose…'}</option>
      ${options(others).map(({ value, label }) => html`<option value=${value}>${label}</option>`)}
    </select>
    ${error && html`<span class="error">${error}</span>`}
  </div>`;
}

/**
 * Brings those who are active to the newest text of the template, after a question that counts
 * them.
 * @param {Model} model
 */
export async function correctTemplate(model) {
  const { campaign: c } = model;
  const path = /** @type {const} */ (`${at(model)}/template`);
  const trial = await post(path, { dry_run: true });
  const kept = keptBecause(trial.kept);
  const n = trial.changed;
  if (n === 0) return nobodyChanges(kept);
  const started = await form({
    title: `Use the newest text of ${c.template_name}?`,
    action: plural(n, 'Change it for {n} person', 'Change it for {n} people'),
    body: () =>
      html`<p>${corrected(n)}</p>
        ${sentences(kept)}
        <p class="soft">To go back, change the template again and repeat this.</p>`,
    submit: ({ key }) => post(path, {}, { key }),
  });
  if (!started) return;
  follow({
    read: `/v1/operations/${started.id}`,
    href: `/operations/${started.id}`,
    label: `Bringing the newest text to ${c.name}`,
    done: titleOf,
    seen: (o) => {
      if (o.status !== 'running') void reload();
    },
  });
}

/** @param {string[]} kept */
const nobodyChanges = (kept) =>
  open(
    (close) =>
      html`<div class="panel">
        <h2>Nobody gets another text</h2>
        ${
          kept.length > 0
            ? sentences(kept)
            : html`<p>Whoever is active has the newest text already.</p>`
        }
        <div class="buttons">${button('Close', () => close(null))}</div>
      </div>`,
    'narrow',
  );

/** @param {number} n */
const corrected = (n) =>
  plural(
    n,
    '{n} person gets the newest text from the next step on. What was sent stays, and so do ' +
      'emails on their way and open tasks.',
    '{n} people get the newest text from their next step on. What was sent stays, and so do ' +
      'emails on their way and open tasks.',
  );

/**
 * The reasons that can be gone. People who were stopped for another one, such as a bounce, are not
 * restarted.
 */
const reversible = [
  'opted_out',
  'suppressed',
  'duplicate_address',
  'left_audience',
  'contact_deleted',
  'campaign_ended',
  'campaign_archived',
  'replied',
  'manual',
];

/**
 * Restarts those who were stopped for reasons that are chosen, as far as the reasons are gone.
 * @param {Model} model
 */
export async function restartMany(model) {
  const path = /** @type {const} */ (`${at(model)}/restart`);
  const stopped = Object.entries(model.stats.stopped_by_reason).filter(([reason]) =>
    reversible.includes(reason),
  );
  const rows = await Promise.all(
    stopped.map(async ([reason, n]) => {
      const { restarted, kept } = await post(path, { reasons: [reason], dry_run: true });
      return { reason, n, restarted, kept };
    }),
  );
  const chosen = (/** @type {FormState} */ { values }) =>
    rows.map(({ reason }) => reason).filter((reason) => values[reason]);
  let total = 0; // of all reasons together, of which two can be about the same address
  const choose = async (/** @type {FormState} */ state) => {
    const reasons = chosen(state);
    total = reasons.length > 0 ? (await post(path, { reasons, dry_run: true })).restarted : 0;
    state.draw();
  };
  const done = await form({
    title: 'Restart people who were stopped',
    action: 'Restart',
    isReady: () => total > 0,
    body: (state) =>
      html`<fieldset class="choices">
          <legend>Stopped because</legend>
          ${rows.map((row) => reasonBox(state, row, () => choose(state)))}
        </fieldset>
        <p role="status">
          ${
            total > 0
              ? plural(
                  total,
                  '{n} person goes on with the first step that was not sent.',
                  '{n} people go on with the first step that was not sent.',
                )
              : 'Choose for which reasons people go on.'
          }
        </p>`,
    submit: (state) => post(path, { reasons: chosen(state), expect: total }, { key: state.key }),
  });
  if (done) await reload();
}

/**
 * A reason, with how many of those who were stopped for it can go on, and why others cannot.
 * @param {FormState} state
 * @param {{reason: string, n: number, restarted: number, kept: Record<string, number>}} row
 * @param {() => unknown} changed
 */
function reasonBox(state, { reason, n, restarted, kept }, changed) {
  const stay = Object.entries(kept).map(([code, count]) => `${number(count)} cannot: ${why(code)}`);
  return html`<label class="check"
    ><input
      type="checkbox"
      name=${reason}
      ?disabled=${restarted === 0}
      .checked=${Boolean(state.values[reason])}
      @change=${(e) => {
        state.set(reason, e.target.checked);
        void changed();
      }}
    />
    <span
      >${words(why(reason))}: ${number(restarted)} of ${number(n)} can go on
      ${stay.length > 0 && html`<br /><span class="soft">${stay.join('; ')}</span>`}</span
    ></label
  >`;
}
