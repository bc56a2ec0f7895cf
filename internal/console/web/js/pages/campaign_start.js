// @ts-check
// What a campaign would do, and its start: the plan, the simulation, and a question before anything
// is sent.
import { get, list } from '../api.js';
import { form, open } from '../components/dialog.js';
import { button, pairs } from '../components/parts.js';
import { html } from '../dom.js';
import { dateTime } from '../format.js';
import { link } from '../router.js';
import { may, update } from '../state.js';
import { number, plural, why } from '../text.js';
import { at, setStatus, transportOf } from './campaign_actions.js';

/** @typedef {import('./campaigns.js').Model} Model */

const planEvery = 60_000; // milliseconds between two plans, at least

/**
 * Reads the plan when something has happened, which is no longer planned then. A large campaign is
 * planned rarely, because that takes long.
 * @param {Model} model
 */
export function planAgain(model) {
  const isOld = JSON.stringify(model.stats) !== model.plannedFor && Date.now() > model.planAfter;
  if (!model.plan || isOld) void plan(model).catch(() => {});
}

/** @param {Model} model */
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

/** @param {API['SimulationSummary']} s the summary of a simulation */
function summary({ people: p, ...s }) {
  const emails = plural(p.sends, '{total} to {n} person', '{total} to {n} people', {
    total: s.sends,
  });
  const tasks = plural(p.tasks, '{total} for {n} person', '{total} for {n} people', {
    total: s.tasks,
  });
  return pairs([
    ['People', `${number(p.reached)} of ${number(s.contacts)} receive something`],
    ['Emails', emails],
    ['Tasks', tasks],
    ['First', s.first_at ? dateTime(s.first_at) : '—'],
    ['Last', s.last_at ? dateTime(s.last_at) : '—'],
    ...leftOut('Skipped', p.skipped, s.skipped),
    ...leftOut('Held', p.held, s.held),
  ]);
}

/**
 * Who gets less than planned, by reason.
 * @param {string} label
 * @param {Record<string, number>} people
 * @param {Record<string, number>} steps
 * @returns {[string, string][]}
 */
function leftOut(label, people, steps) {
  return Object.entries(people).map(([reason, n]) => [
    label,
    plural(
      n,
      '{n} person: {why}, {steps} of their steps',
      '{n} people: {why}, {steps} of their steps',
      {
        why: why(reason),
        steps: steps[reason],
      },
    ),
  ]);
}

/** @param {Model} model */
export async function simulate(model) {
  const s = await plan(model);
  await open(
    (close) =>
      html`<div class="panel">
        <h2>What would happen</h2>
        ${summary(s)}
        <p class="soft">Nothing was sent.</p>
        <div class="buttons">${button('Close', () => close(null))}</div>
      </div>`,
  );
}

/** What stands where a text is to be filled in: an ellipsis, or words such as [Name]. */
const placeholder = /…|^\s*\.\.\.\s*$|\[[A-Z][^\]\n]*\]/m;

/**
 * The steps whose text still has a place to fill in, in a block perhaps.
 * @param {API['Template'] | null} template
 */
function unfinishedSteps(template) {
  const blocks = Object.entries(template?.blocks || {})
    .filter(([, block]) => placeholder.test(block.content || ''))
    .map(([id]) => `[[block:${id}]]`);
  return (template?.steps || []).filter(({ subject, message }) => {
    const text = `${subject || ''}\n${message || ''}`;
    return placeholder.test(text) || blocks.some((block) => text.includes(block));
  });
}

/**
 * Starts a campaign after a question that has the numbers of the simulation.
 * @param {Model} model
 */
export async function start(model) {
  const { campaign: c } = model;
  const [s, mail, template] = await Promise.all([
    plan(model),
    may('admin') ? get('/v1/mail/status').catch(() => null) : null,
    c.template_id ? get(`/v1/sequence-templates/${c.template_id}`).catch(() => null) : null,
  ]);
  const unfinished = unfinishedSteps(template);
  const isSure = await form({
    title: `Start ${c.name}?`,
    action: plural(s.people.reached, 'Start for {n} person', 'Start for {n} people'),
    className: 'narrow',
    isReady: ({ values }) => unfinished.length === 0 || Boolean(values.sure),
    body: (state) =>
      html`${summary(s)}${mail && html`<p>${transportOf(mail.transport)}</p>`}
      ${template && unfinished.length > 0 && unfinishedNotice(state, template, unfinished)}`,
    submit: async () => true,
  });
  if (isSure) await setStatus(model, 'active');
}

/**
 * @param {FormState} state
 * @param {API['Template']} template
 * @param {API['Step'][]} steps
 */
function unfinishedNotice(state, template, steps) {
  const names = steps.map((step) => step.title || `Step ${number(step.index + 1)}`).join(', ');
  const text = `The text is not finished. There is a placeholder such as “…” in: ${names}.`;
  return html`<div class="notice warn">
      <span class="grow">${text}</span>
      <a class="button" href=${link(`/templates/${template.id}?step=${steps[0].index + 1}`)}
        >Open the template</a
      >
    </div>
    <label class="check"
      ><input
        type="checkbox"
        data-field="sure"
        .checked=${Boolean(state.values.sure)}
        @change=${(e) => state.set('sure', e.target.checked)}
      />
      Send it as it is</label
    >`;
}
