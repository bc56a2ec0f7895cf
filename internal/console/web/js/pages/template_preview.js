// @ts-check
// What a contact receives from the template in the editor, and for how many people a value is missing.
import { is, list, messageOf, post } from '../api.js';
import { resolve } from '../components/field.js';
import { soft, status, toast } from '../components/parts.js';
import { html } from '../dom.js';
import { because, day, time, words } from '../format.js';
import { setSearch } from '../router.js';
import { update } from '../state.js';
import { number } from '../text.js';

/** @typedef {import('./template.js').Model} Model */

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

/** What a contact would receive, and when, by the server. @param {Model} model */
export async function preview(model) {
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

/** The content of the template. @param {Pick<Model, 'template'>} model */
export const contentOf = ({ template: x }) => ({
  name: x.name || 'New template',
  description: x.description ?? null,
  steps: x.steps,
  transitions: x.transitions,
  blocks: x.blocks || {},
});

/**
 * Renders the template as it is in the editor, saved or not, with its times.
 * @param {Model} model
 */
async function render(model) {
  const run = ++model.run;
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
    if (run === model.run) model.invalid = inWords(messageOf(error));
  }
  update();
}

/** An error of the API, which counts steps from 0. @param {string} message */
export const inWords = (message) =>
  message.replace(
    /steps\[(\d+)\]\.(\w+)/g,
    (_, n, name) => `Step ${number(Number(n) + 1)}, ${words(name).toLowerCase()}`,
  );

/** Sends the email of the step to oneself. @param {Model} model */
export async function test(model) {
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
 * @param {Model} model
 * @param {{id: string} | undefined} audience
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
    const path = /** @type {const} */ (`/v1/audiences/${audience.id}/contacts/list`);
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

/** @param {Model} model */
export function changed(model) {
  model.isDirty = true;
  model.errors = {};
  update();
  clearTimeout(model.timer);
  model.timer = setTimeout(() => void render(model), 300);
}

/** @param {Model} model @param {number} step */
export function select(model, step) {
  model.step = step;
  const search = new URLSearchParams();
  if (step) search.set('step', String(step + 1));
  if (model.as) search.set('as', model.as);
  setSearch(search.size > 0 ? `?${search}` : '');
  update();
  if (!model.isNew) void countMissing(model, model.campaigns[0]?.audiences[0]).catch(() => {});
}

/** @param {Model} model */
export function receives(model) {
  const text = model.texts.find((s) => s.index === model.step);
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
    ${model.missing.map(
      (m) =>
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
