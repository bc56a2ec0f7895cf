// @ts-check
// Asks for a new record of any kind.
import { is, list, post } from '../api.js';
import { form } from '../components/dialog.js';
import { field, nameOf, optionsOf } from '../components/field.js';
import { allowedValues, guessReference } from '../components/filter.js';
import { button, status } from '../components/parts.js';
import { html } from '../dom.js';
import { fromInput } from '../format.js';
import { go, link, reload } from '../router.js';
import { createAudience } from './audience_new.js';
import { createCampaign } from './campaign_actions.js';

/** The values of a form that were filled in. @param {Values} values */
const filled = (values) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== ''));

/**
 * The input of a field of the schema.
 * @param {FormState} state
 * @param {Field} f
 * @param {unknown} [help]
 */
export function schemaField(state, f, help = '') {
  const allowed = allowedValues(f);
  return field(state, {
    name: f.key,
    label: f.label,
    type: f.type,
    help,
    options: allowed.length ? optionsOf(allowed) : undefined,
    reference: f.type === 'reference' ? f.reference || guessReference(f.key) : null,
    rows: f.key === 'notes' ? 4 : undefined,
  });
}

/**
 * The value of an input as the API takes it.
 * @param {Schema} schema
 * @param {string} key
 * @param {unknown} value
 */
export const valueOf = (schema, key, value) =>
  value && schema.fields.find((f) => f.key === key)?.type === 'datetime'
    ? fromInput(String(value))
    : (value ?? null);

/**
 * Asks for a new record and opens it, or stays on the page if some values are given.
 * @param {{kind: Entity, schema: Schema}} list
 * @param {Values} [given]
 */
export async function create({ kind, schema }, given) {
  if (kind.entity === 'campaigns') return createCampaign();
  if (kind.entity === 'audiences') return createAudience();
  if (kind.entity === 'sequence-templates') return go('/templates/new');
  const fields = (kind.create || [])
    .map((key) => schema.fields.find((f) => f.key === key))
    .filter((f) => f !== undefined);
  const twin = kind.entity === 'contacts' && twinOf();
  const made = await form(
    {
      title: `New ${kind.one}`,
      action: 'Create',
      body: (state) =>
        html`<div class="columns">
          ${fields.map((f) => schemaField(state, f, f.key === 'email' && twin && twin(state)))}
        </div>`,
      submit: ({ values, key }) =>
        post(
          `/v1/${kind.entity}`,
          Object.fromEntries(
            Object.entries(filled(values)).map(([name, value]) => [
              name,
              valueOf(schema, name, value),
            ]),
          ),
          { key },
        ),
    },
    given,
  );
  if (made) await (given ? reload() : go(`${kind.path}/${made.id}`));
}

/** The button that asks for a new record. @param {{kind: Entity, schema: Schema}} of */
export const newButton = (of) => button(`New ${of.kind.one}`, () => create(of), 'primary');

/** Returns what shows the contact who has the address of a form already. */
function twinOf() {
  let asked = '';
  /** @type {API['Contact'] | undefined} */
  let found;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return (/** @type {FormState} */ { values: { email = '' }, draw }) => {
    if (email !== asked) {
      asked = email;
      found = undefined;
      clearTimeout(timer);
      if (/.@.+\../.test(email))
        timer = setTimeout(async () => {
          const { data } = await list('/v1/contacts/list', {
            filters: [is('email', email)],
            page_size: 1,
          });
          if (email === asked) [found] = data;
          draw();
        }, 250);
    }
    return (
      found &&
      status(
        'held',
        html`<a href=${link(`/contacts/${found.id}`)} target="_blank" dir="auto"
          >${nameOf(found)} has this address</a
        >`,
      )
    );
  };
}
