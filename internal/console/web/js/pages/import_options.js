// @ts-check
// How rows find their records, and how values are read.
import { field } from '../components/field.js';
import { section } from '../components/parts.js';
import { html } from '../dom.js';
import { words } from '../format.js';

/** @typedef {import('./imports.js').Model} Model */

/** @param {string} value @param {string} label */
const option = (value, label) => ({ value, label });

/**
 * How a row finds its record, and what it may change there.
 * @param {FormState} form
 * @param {boolean} isContacts
 * @param {Record<string, string>} mapping
 */
const matchFields = (form, isContacts, mapping) =>
  html`${field(form, {
    name: 'match_on',
    label: 'A row updates the record with the same',
    required: true,
    help:
      form.values.match_on === 'auto'
        ? isContacts
          ? 'external ID, else email, LinkedIn URL, or name and account'
          : 'external ID, else website, or name and country'
        : '',
    options: [
      option('auto', 'Whatever it has'),
      ...(isContacts ? ['external_id', 'email', 'linkedin_url'] : ['external_id', 'website']).map(
        (key) => option(key, words(key)),
      ),
      option('none', 'Nothing: every row is a new record'),
    ],
  })}
  ${
    /external_id/.test(Object.values(mapping).join()) &&
    field(form, {
      name: 'id_system',
      label: 'Its ids are those of',
      required: true,
      options: [
        option('auto', 'Recognized by column'),
        ...['hubspot', 'pipedrive', 'salesforce', 'apollo', 'linkedin'].map((key) =>
          option(key, words(key)),
        ),
        option('none', 'No system: a number of your own'),
      ],
    })
  }
  ${
    form.values.match_on !== 'none' &&
    field(form, {
      name: 'on_existing',
      label: 'In a record that exists',
      required: true,
      options: [
        option('overwrite', 'Replace values with those of the row'),
        option('fill_empty', 'Fill only what is empty'),
        option('skip', 'Change nothing: leave out the row'),
      ],
    })
  }
  ${
    form.values.match_on !== 'none' &&
    form.values.on_existing !== 'skip' &&
    field(form, {
      name: 'existing_tags',
      label: 'Its tags',
      required: true,
      options: [
        option('add', 'Keep them, and add those of the row'),
        option('replace', 'Replace them with those of the row'),
      ],
    })
  }`;

/** How values are read. @param {FormState} form */
const valueFields = (form) =>
  html`${field(form, {
    name: 'locale',
    label: 'Numbers and dates are written as in',
    required: true,
    options: [
      ['auto', 'Recognized by column'],
      ['en-US', 'English (US): 1,250.50, 11/03/2025'],
      ['en-GB', 'English (UK): 1,250.50, 03/11/2025'],
      ['de', 'German: 1.250,50, 03.11.2025'],
      ['fr', 'French: 1 250,50, 03/11/2025'],
      ['es', 'Spanish: 1.250,50, 03/11/2025'],
    ].map(([value, label]) => option(value, label)),
  })}
  ${field(form, {
    name: 'on_bad_value',
    label: 'A value that cannot be read',
    required: true,
    options: [option('drop_value', 'Leave out the value'), option('skip_row', 'Leave out the row')],
  })}`;

/** @param {Model} model */
export function options({ form, entity, mapping }) {
  if (entity === 'suppressions') return null;
  const isContacts = entity === 'contacts';
  return section(
    'Options',
    html`<div class="columns">
        ${matchFields(form, isContacts, mapping)} ${valueFields(form)}
        ${field(form, {
          name: 'tags',
          label: 'Give all of them the tags',
          help: 'with commas',
        })}
      </div>
      <div class="buttons">
        ${field(form, {
          name: 'new_tags',
          type: 'boolean',
          label: 'Create tags that do not exist',
        })}${
          isContacts &&
          field(form, {
            name: 'new_accounts',
            type: 'boolean',
            label: 'Create accounts that do not exist',
          })
        }
      </div>`,
  );
}
