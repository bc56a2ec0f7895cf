// @ts-check
// Input fields, made from the type of a value.
import { is, list, tags, users } from '../api.js';
import { html } from '../dom.js';
import { words } from '../format.js';

let lastID = 0;
/** @type {Map<string, string>} */
const idOf = new Map();

/** An id that stays the same for a name. @param {string} name */
function stableID(name) {
  let id = idOf.get(name);
  if (!id) idOf.set(name, (id = `field-${++lastID}`));
  return id;
}

/**
 * A field of a form. The label, which is the name in words if there is none, is above it, the help
 * or the error below.
 * @param {FormPart} form
 * @param {FieldOptions} options
 */
export function field(form, options) {
  const { name, label = words(name), help } = options;
  const id = stableID(name);
  const value = form.values[name];
  const error = explain(options.type, value, form.errors[name]);
  const set = (/** @type {unknown} */ v) => form.set(name, v);
  if (options.type === 'boolean') {
    return html`<div class="field">
      <label class="check"
        ><input
          id=${id}
          data-field=${name}
          type="checkbox"
          .checked=${Boolean(value)}
          @change=${(e) => set(e.target.checked)}
        />
        ${label}</label
      >${note(id, error, help)}
    </div>`;
  }
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${control({ ...options, id, value, set, error })} ${note(id, error, help)}
  </div>`;
}

/**
 * @param {string} id
 * @param {string | undefined} error
 * @param {unknown} help
 */
function note(id, error, help) {
  if (error) return html`<span class="error" id=${`${id}-note`}>${error}</span>`;
  return help ? html`<span class="help" id=${`${id}-note`}>${help}</span>` : null;
}

/**
 * A choice of options.
 * @param {ControlOptions} o
 * @param {{value: string, label: string}[]} options
 * @param {{invalid: string | null, note: string | null}} common
 * @param {(e: {target: HTMLInputElement}) => void} input
 */
function choice(o, options, common, input) {
  const isKnown = options.some((option) => option.value === o.value);
  return html`<select
    id=${o.id}
    data-field=${o.name}
    aria-invalid=${common.invalid}
    aria-describedby=${common.note}
    @change=${input}
  >
    ${
      !(o.required && isKnown) &&
      html`<option value="" .selected=${!isKnown}>${o.required ? 'Choose…' : ''}</option>`
    }
    ${options.map(
      (option) =>
        html`<option value=${option.value} .selected=${option.value === o.value}>
          ${option.label}
        </option>`,
    )}
  </select>`;
}

/**
 * The input of a value.
 * @param {ControlOptions} o
 */
export function control(o) {
  const { id, value, set } = o;
  const common = {
    invalid: o.error ? 'true' : null,
    note: o.error || o.help ? `${id}-note` : null,
  };
  const input = (/** @type {{target: HTMLInputElement}} */ e) => set(read(o.type, e.target.value));
  if (o.options) return choice(o, o.options, common, input);
  if (o.type === 'reference' && o.reference) return picker(o);
  if (o.rows) {
    return html`<textarea
      id=${id}
      data-field=${o.name}
      rows=${o.rows}
      dir="auto"
      aria-invalid=${common.invalid}
      aria-describedby=${common.note}
      placeholder=${o.placeholder}
      .value=${value ?? ''}
      @input=${input}
    ></textarea>`;
  }
  const type =
    {
      number: 'text',
      date: 'date',
      datetime: 'datetime-local',
      password: 'password',
      email: 'email',
      url: 'url',
    }[o.type || ''] || 'text';
  return html`<input
      id=${id}
      data-field=${o.name}
      type=${type}
      inputmode=${o.type === 'number' ? 'decimal' : null}
      dir="auto"
      aria-invalid=${common.invalid}
      aria-describedby=${common.note}
      placeholder=${o.placeholder}
      autocomplete=${o.autocomplete || 'off'}
      list=${o.suggestions ? `${id}-options` : null}
      .value=${value ?? ''}
      @input=${input}
    />${
      o.suggestions &&
      html`<datalist id=${`${id}-options`}>
        ${o.suggestions.map((s) => html`<option value=${s.value}>${s.label}</option>`)}
      </datalist>`
    }`;
}

/**
 * What is wrong with a value that was refused.
 * @param {string | undefined} type
 * @param {unknown} value
 * @param {string} error
 */
export function explain(type, value, error) {
  if (!error || typeof value !== 'string') return error;
  if (type === 'number')
    return ambiguous.test(value)
      ? `${value} can be read in two ways. Write ${value.replaceAll('.', '')} or ` +
          `${String(Number(value)).replace(/\.\d{3}$/, '$&0')}.`
      : `${value} is not a number. Write it like 2500 or 2.5.`;
  return type === 'reference' && value && !isID(value)
    ? 'Nothing has this name. Choose one from the list.'
    : error;
}

// as the console shows numbers, and with other spaces
const numeral = /^-?(\d*|\d{1,3}([,\s'’])\d{3}(\2\d{3})*)(\.\d*)?$/;
const ambiguous = /^-?[1-9]\d{0,2}\.\d{3}$/; // the point may separate thousands

/**
 * The value of a text that was typed. What cannot be read as a number stays text, which is refused.
 * @param {string | undefined} type
 * @param {string} text
 */
export function read(type, text) {
  if (text === '') return null;
  if (type === 'number') {
    const typed = text.trim();
    const value = Number(typed.replace(/[,\s'’]/g, ''));
    return !numeral.test(typed) || ambiguous.test(typed) || Number.isNaN(value) ? text : value;
  }
  if (type === 'boolean') return text === 'true';
  return text;
}

/** @type {Record<string, string>} */
const names = {};

/** The name of a record. @param {{[field: string]: unknown}} record */
export function nameOf(record) {
  const person = [record.first_name, record.last_name].filter(Boolean).join(' ');
  return String(
    record.name ||
      person ||
      record.title ||
      record.email ||
      record.label ||
      record.subject ||
      record.url ||
      record.domain ||
      record.id ||
      '',
  );
}

/** @type {Record<string, string>} */
const pathOf = {
  audience: 'audiences',
  template: 'sequence-templates',
  account: 'accounts',
  contact: 'contacts',
  campaign: 'campaigns',
  user: 'users',
};

/** @param {string} value */
const isID = (value) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);

/**
 * A field that finds a record by its name. What is typed stays, so that an unknown name is refused.
 * @param {ControlOptions} o
 */
function picker(o) {
  const entity = pathOf[o.reference || ''] || o.reference || '';
  const listID = `${o.id}-options`;
  const value = String(o.value || '');
  if (isID(value) && !names[value])
    void resolve(entity, value).then((name) => {
      if (name) o.set(value);
    });
  return html`<input
      id=${o.id}
      data-field=${o.name}
      type="text"
      list=${listID}
      autocomplete="off"
      dir="auto"
      aria-invalid=${o.error ? 'true' : null}
      placeholder=${o.placeholder || 'Type a name'}
      .value=${names[value] || value}
      @input=${async (e) => {
        const text = e.target.value;
        const known = Object.keys(names).find(
          (id) => names[id] === text && e.target.list?.querySelector(`[data-id="${id}"]`),
        );
        o.set(known || text || null);
        if (known || !text) return;
        const same = (await suggest(entity, text, e.target.list)).filter(
          (record) => nameOf(record) === text,
        );
        if (same.length === 1 && e.target.value === text) o.set(same[0].id);
      }}
    /><datalist id=${listID}></datalist>`;
}

/**
 * @param {string} entity
 * @param {string} text
 * @param {HTMLDataListElement | null} into
 */
async function suggest(entity, text, into) {
  const found =
    entity === 'users'
      ? (await users()).filter((u) =>
          text
            .toLowerCase()
            .split(' ')
            .every((word) => `${nameOf(u)} ${u.email}`.toLowerCase().includes(word)),
        )
      : (await list(`/v1/${entity}/list`, { search: text, page_size: 8 })).data;
  into?.replaceChildren(
    ...found.map((record) => {
      names[record.id] = nameOf(record);
      const option = document.createElement('option');
      option.value = nameOf(record);
      option.dataset.id = record.id;
      return option;
    }),
  );
  return found;
}

/**
 * The name of a referenced record.
 * @param {string} entity
 * @param {string} id
 * @returns {Promise<string>}
 */
export async function resolve(entity, id) {
  if (names[id]) return names[id];
  const found =
    entity === 'users'
      ? await users()
      : entity === 'tags'
        ? await tags()
        : (await list(`/v1/${entity}/list`, { filters: [is('id', id)], page_size: 1 })).data;
  for (const record of found) names[record.id] = nameOf(record);
  return names[id] || '';
}

/** Loads the names of many records at once. @param {string} entity @param {(string | null)[]} ids */
export async function resolveAll(entity, ids) {
  const missing = [...new Set(ids)].filter((id) => id && !names[id]);
  if (missing.length === 0) return;
  const found =
    entity === 'users'
      ? await users()
      : (
          await list(`/v1/${entity}/list`, {
            filters: [is('id', missing)],
            page_size: missing.length,
          })
        ).data;
  for (const record of found) names[record.id] = nameOf(record);
}

/** The name of a record that was loaded before. @param {string | null | undefined} id */
export const knownName = (id) => (id && names[id]) || '';

/** The options of a boolean. */
export const yesNo = () => [
  { value: 'true', label: 'yes' },
  { value: 'false', label: 'no' },
];

/** The options of an enumeration. @param {string[]} values */
export const optionsOf = (values) => values.map((value) => ({ value, label: words(value) }));

/** The type of a custom field, and its values if it is a choice. @type {FieldOptions[]} */
export const typeFields = [
  {
    name: 'data_type',
    label: 'Type',
    required: true,
    options: optionsOf(['text', 'number', 'boolean', 'date', 'enum', 'multi_select']),
  },
  { name: 'allowed_values', help: 'with commas, for a choice' },
];
