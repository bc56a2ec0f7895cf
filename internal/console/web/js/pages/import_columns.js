// @ts-check
// The columns of a file: from which sheet they are, and to which fields they go.
import { post, schemaOf } from '../api.js';
import { form as ask } from '../components/dialog.js';
import { field, typeFields } from '../components/field.js';
import { button, section, status, table } from '../components/parts.js';
import { html } from '../dom.js';
import { listOf, words } from '../format.js';
import { choose } from './import_file.js';

/** @typedef {import('./imports.js').Model} Model */

/**
 * Which sheet is read, and in which encoding if that is a guess.
 * @param {Model} model
 * @param {File} file
 * @param {API['Inspection']} i
 */
export function source(model, file, i) {
  const { reading } = model;
  const choice = (
    /** @type {'sheet' | 'encoding'} */ name,
    /** @type {string} */ label,
    /** @type {string[]} */ values,
  ) =>
    html`<p>
      <label
        >${label}
        <select @change=${(e) => choose(model, file, { ...reading, [name]: e.target.value })}>
          ${values.map((value) => html`<option .selected=${value === i[name]}>${value}</option>`)}
        </select></label
      >
    </p>`;
  return html`${i.sheets.length > 1 && choice('sheet', 'Sheet', i.sheets)}
  ${
    (i.encoding_unsure || reading.encoding) &&
    choice('encoding', 'Encoding: choose another one if letters are wrong', i.encodings)
  }`;
}

/** @param {Model} model @param {API['Inspection']} inspection */
export function columns(model, inspection) {
  const { mapping, chosen, fields, form } = model;
  const known = fields.filter((f) => !f.read_only).map((f) => [f.key, f.label]);
  const others = [
    ...new Set([
      ...inspection.columns.map((c) => c.field),
      ...(model.entity === 'contacts'
        ? ['full_name', 'account_name', 'account_website', 'opt_out_status']
        : []),
    ]),
  ]
    .filter((key) => key && !known.some(([other]) => other === key))
    .map((key) => [key, words(key)]);
  const choices = [...known, ...others].sort((a, b) => a[1].localeCompare(b[1]));
  return section(
    'Columns',
    table(
      ['Column', 'Values', 'Field', 'Recognized'],
      inspection.columns.map((c) => [
        html`<strong dir="auto">${c.name}</strong>`,
        html`<span class="soft" dir="auto">${(c.samples || []).slice(0, 3).join(' · ')}</span>`,
        html`<select
          aria-label=${`Field of the column ${c.name}`}
          @change=${(e) => {
            mapping[c.name] = e.target.value;
            chosen[c.name] = true;
            form.draw();
          }}
        >
          <option value="" .selected=${!mapping[c.name]}>Do not import</option>
          ${choices.map(
            ([key, label]) =>
              html`<option value=${key} .selected=${mapping[c.name] === key}>${label}</option>`,
          )}
        </select>`,
        mapping[c.name] !== (c.field || '') || chosen[c.name]
          ? 'chosen by you'
          : !c.field
            ? newField(model, inspection, c)
            : status(
                c.confidence === 'guessed' ? 'waiting' : 'ready',
                c.confidence === 'guessed' ? 'guessed from the values' : 'by its name',
              ),
      ]),
    ),
  );
}

/**
 * Offers a new field for a column that no field fits.
 * @param {Model} model
 * @param {API['Inspection']} inspection
 * @param {API['InspectedColumn']} c the column
 */
function newField(model, { custom_fields }, { name, samples }) {
  const needed = custom_fields?.find((f) => f.column === name);
  if (!needed) return null;
  const { column, ...content } = needed;
  return button(
    'New field…',
    async () => {
      const made = await ask(
        {
          title: 'New field',
          action: 'Create',
          body: (state) =>
            [{ name: 'label' }, ...typeFields].map((options) => field(state, options)),
          submit: ({ values: v, key }) =>
            post(
              '/v1/fields',
              {
                entity: model.entity,
                ...v,
                allowed_values: /^(enum|multi)/.test(v.data_type)
                  ? listOf(v.allowed_values)
                  : undefined,
              },
              { key },
            ),
        },
        { ...content, allowed_values: samples?.join(', ') },
      );
      if (!made) return;
      model.fields = (await schemaOf(model.entity)).fields;
      model.mapping[name] = `custom_field_${content.key}`;
      model.chosen[name] = true;
      model.form.draw();
    },
    'plain',
  );
}
