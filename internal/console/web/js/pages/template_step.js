// @ts-check
// The fields of one step in the editor, and what can be inserted into its text.
import { field, optionsOf } from '../components/field.js';
import { html } from '../dom.js';
import { words } from '../format.js';
import { may } from '../state.js';
import { changed } from './template_preview.js';

/** @typedef {import('./template.js').Model} Model */

const types = [
  'auto_email',
  'manual_email',
  'call',
  'task',
  'auto_linkedin_connection',
  'auto_linkedin_message',
  'gift',
];

const units = ['minutes', 'hours', 'days', 'business_days'];

const tokens = [
  'recipient.first_name',
  'recipient.last_name',
  'recipient.title',
  'recipient.company',
  'sender.first_name',
  'sender.last_name',
  'sender.email',
  'sender.company',
];

/**
 * A record of the template as a form, so that errors appear beside their fields.
 * @param {Values} values
 * @param {Model} model
 * @param {string} prefix
 * @returns {FormPart}
 */
export const formOf = (values, model, prefix) => ({
  values,
  errors: Object.fromEntries(
    Object.entries(model.errors)
      .filter(([path]) => path.startsWith(prefix))
      .map(([path, message]) => [path.slice(prefix.length), message]),
  ),
  set(name, value) {
    values[name] = value;
    changed(model);
  },
});

/**
 * How long a step waits.
 * @param {Model} model
 * @param {API['Transition']} e
 * @param {number} at the step
 */
function waitFields(model, e, at) {
  const { template: x } = model;
  const wait = formOf(e, model, `transitions[${x.transitions.indexOf(e)}].`);
  return html`<div class="columns">
    ${field(
      {
        ...wait,
        values: { ...e, from_step_index: String(e.from_step_index) },
        set: (name, v) => wait.set(name, Number(v)),
      },
      {
        name: 'from_step_index',
        label: 'After step',
        required: true,
        options: x.steps
          .map((s, i) => ({
            value: String(i),
            label: `${i + 1} ${s.title || words(s.type)}`,
          }))
          .filter((o) => o.value !== String(at)),
      },
    )}
    ${field(wait, { name: 'pre_check_delay', label: 'Wait', type: 'number' })}${field(wait, {
      name: 'pre_check_time_unit',
      label: 'Unit',
      options: optionsOf(units),
    })}
  </div>`;
}

/** @param {Model} model */
export function editor(model) {
  const { template: x, step: at } = model;
  const step = x.steps[at];
  if (!step) return '';
  const form = formOf(step, model, `steps[${at}].`);
  const incoming = x.transitions.filter((e) => e.to_step_index === at);
  const isEmail = step.type.endsWith('email');
  return html`<fieldset class="form" ?disabled=${!may('write')}>
    <div class="columns">
      ${field(form, {
        name: 'type',
        required: true,
        options: optionsOf(types),
      })}${field(form, { name: 'title' })}
    </div>
    ${incoming.map((e) => waitFields(model, e, at))}
    <div class="columns">
      ${
        incoming.length === 0 &&
        field(form, { name: 'day', label: 'Day of the sequence', type: 'number' })
      }${field(form, { name: 'hour', label: 'Hour of the day', type: 'number' })}
    </div>
    ${
      isEmail &&
      field(form, { name: 'subject', help: at ? 'Empty: a reply in the same thread.' : '' })
    }
    ${field(form, { name: 'message', label: isEmail ? 'Message' : 'Notes', rows: 10 })}
    <div class="field">
      <label for="token">Insert</label
      ><select
        id="token"
        @change=${(e) => {
          insert(model, e.target.value);
          e.target.value = '';
        }}
      >
        <option value="">Token or block…</option>
        ${[
          ...tokens.map((token) => `{{${token}}}`),
          ...Object.keys(x.blocks || {}).map((id) => `[[block:${id}]]`),
        ].map((token) => html`<option value=${token}>${token}</option>`)}
      </select>
    </div>
  </fieldset>`;
}

/** Inserts a token at the caret of the message. @param {Model} model @param {string} token */
function insert(model, token) {
  const area = /** @type {HTMLTextAreaElement | null} */ (
    document.querySelector('[data-field="message"]')
  );
  const step = model.template.steps[model.step];
  const at = area?.selectionStart ?? 0;
  step.message = (step.message || '').slice(0, at) + token + (step.message || '').slice(at);
  if (area) area.value = step.message; // a render leaves the field alone in which somebody types
  changed(model);
  requestAnimationFrame(() => {
    area?.focus();
    area?.setSelectionRange(at + token.length, at + token.length);
  });
}
