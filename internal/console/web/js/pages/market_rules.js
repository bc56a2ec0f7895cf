// @ts-check
// Which companies and people a market has, and what is asked about them.
import { field, optionsOf, yesNo } from '../components/field.js';
import { filterBar } from '../components/filter.js';
import { html } from '../dom.js';
import { changed, signalOf } from './market_count.js';

/** @typedef {import('./market.js').Market} Market */

/** Which companies. @param {Market} model */
export const companiesOf = (model) =>
  html`${filterBar({
    view: () => model.view,
    fields: model.schema.fields,
    onChange: (rules, where) => {
      Object.assign(model.view, { rules, where });
      changed(model);
    },
  })}
  ${input('market-q', 'Words in the description', model.view.q, (v) => {
    model.view.q = v;
    changed(model);
  })}`;

/** Which people. @param {Market} model */
export const peopleOf = (model) =>
  html`${input(
    'market-titles',
    'Titles with any of these words',
    model.titles,
    (v) => {
      model.titles = v;
      changed(model);
    },
    'chief, vp',
  )}
  ${input(
    'market-not',
    'but none of these',
    model.not,
    (v) => {
      model.not = v;
      changed(model);
    },
    'assistant',
  )}`;

/** What is asked about each company. @param {Market} model */
export const questionOf = (model) =>
  html`<div class="columns">
    ${field(model.form, {
      name: 'ask',
      label: 'To be answered for each company',
      options: model.signals.map((f) => ({
        value: f.id,
        label: f.ai?.question ?? '',
      })),
    })}
    ${
      model.form.values.ask &&
      field(model.form, {
        name: 'answer',
        label: 'The answer must be',
        ...answerOf(model),
      })
    }
  </div>`;

/**
 * @param {string} id
 * @param {string} label
 * @param {string} value
 * @param {(value: string) => void} set
 * @param {string} [placeholder]
 */
const input = (id, label, value, set, placeholder) =>
  html`<div class="field">
    <label for=${id}>${label}</label
    ><input
      id=${id}
      type="text"
      dir="auto"
      placeholder=${placeholder}
      .value=${value}
      @input=${(e) => set(e.target.value)}
    />
  </div>`;

/** The input of the answer. @param {Market} model */
function answerOf(model) {
  const signal = signalOf(model);
  if (signal?.data_type === 'boolean') return { required: true, options: yesNo() };
  return signal?.allowed_values.length
    ? { required: true, options: optionsOf(signal.allowed_values) }
    : { type: signal?.data_type };
}
