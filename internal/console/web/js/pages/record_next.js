// @ts-check
// What comes next for a contact, and what can be done for it.
import { get, patch, post, schemaOf } from '../api.js';
import { confirm } from '../components/dialog.js';
import { knownName, nameOf } from '../components/field.js';
import { button, section, status } from '../components/parts.js';
import { html } from '../dom.js';
import { dateTime } from '../format.js';
import { link, reload } from '../router.js';
import { may } from '../state.js';
import { number, plural, why } from '../text.js';
import { addToCampaign } from './add_contacts.js';
import { create } from './create.js';
import { entities } from './entities.js';

/** @typedef {import('./record.js').Model} Model */

/**
 * A sequence of the contact, with the title of the step that comes next.
 * @typedef {API['Sequence'] & {step_title?: string | null}} NextStep
 */

/**
 * Reads the titles of the steps that come next.
 * @param {NextStep[]} sequences
 * @param {AbortSignal} signal
 */
export const readSteps = (sequences, signal) =>
  Promise.all(
    sequences
      .filter((s) => s.next_due_at)
      .map(async (s) => {
        const { template_id } = await get(`/v1/campaigns/${s.campaign_id}`, { signal });
        const { steps } = await get(`/v1/sequence-templates/${template_id}`, { signal });
        s.step_title = steps.find((step) => step.index === s.current_step_index)?.title;
      }),
  );

/** What comes next for a contact, and why. @param {Model} model */
export function next(model) {
  const isOpen = (/** @type {NextStep} */ s) => s.status === 'active' || s.status === 'not_started';
  const rows = [...model.sequences].sort((a, b) => Number(isOpen(b)) - Number(isOpen(a)));
  return section(
    'Next',
    html`${!rows.some(isOpen) && html`<p class="soft">${nothingNext(model)}</p>`}
    ${
      rows.length > 0 &&
      html`<ul class="list">
        ${rows.map(
          (s) =>
            html`<li>
              <a href=${link(`/campaigns/${s.campaign_id}`)} dir="auto"
                >${knownName(s.campaign_id)}</a
              >${status(s.reason === 'replied' ? s.reason : s.status)}
              <span class="grow soft"
                >${
                  s.next_due_at
                    ? `${s.step_title || `step ${number((s.current_step_index ?? 0) + 1)}`}, ${dateTime(s.next_due_at)}`
                    : s.reason
                      ? why(s.reason)
                      : ''
                }</span
              >
            </li>`,
        )}
      </ul>`
    }`,
    may('write') &&
      html`<span class="buttons"
        >${button('Add to campaign…', () => addToCampaign(alone(model)))}${[
          'tasks',
          'meetings',
        ].map((name) =>
          button(`New ${entities[name].one}`, () => createFor(model, entities[name])),
        )}</span
      >`,
  );
}

/**
 * The contact as a list in which it is selected.
 * @param {Model} model
 * @returns {import('./add_contacts.js').Selection}
 */
const alone = ({ kind, record }) => ({
  kind,
  count: 1,
  view: { q: nameOf(record) },
  isEverything: false,
  table: { selected: new Set([record.id]), total: 1, clearSelection() {} },
});

/** Asks for a new record that belongs to the contact. @param {Model} model @param {Entity} kind */
const createFor = async ({ record }, kind) =>
  create(
    { kind, schema: await schemaOf(kind.entity) },
    { contact_id: record.id, account_id: record.account_id },
  );

/** @param {Model} model */
function nothingNext(model) {
  if (model.record.do_not_contact) return 'Nothing will be sent: the contact has opted out.';
  if (!model.record.email) return 'Nothing will be sent: the contact has no email address.';
  const has = (/** @type {string} */ reason) => model.sequences.some((s) => s.reason === reason);
  if (has('replied')) return `Nothing is planned, because ${nameOf(model.record)} has replied.`;
  return !may('write')
    ? 'Nothing is planned.'
    : has('left_audience')
      ? `Nothing is planned. ${nameOf(model.record)} left the audience of a campaign, which ` +
        'does not go on even for those who come back.'
      : `Nothing is planned. Add ${nameOf(model.record)} to an audience of a campaign.`;
}

/** @param {Model} model */
export async function optOut(model) {
  const name = nameOf(model.record);
  if (
    await confirm({
      title: `Opt out ${name}?`,
      text: 'The contact receives nothing any more, from any campaign.',
      action: 'Opt out',
      danger: true,
    })
  ) {
    await patch(model.path, { do_not_contact: true });
    await reload();
  }
}

/** @param {Model} model */
export async function replied(model) {
  const running = model.sequences.filter((s) => s.status === 'active').length;
  if (
    await confirm({
      title: `Record a reply of ${nameOf(model.record)}?`,
      text: plural(running, '{n} running sequence stops.', '{n} running sequences stop.'),
      action: 'Record the reply',
    })
  ) {
    await post(`${model.path}/replied`, {});
    await reload();
  }
}
