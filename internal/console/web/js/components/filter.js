// @ts-check
// The filter builder: chips for the rules and groups of rules, a form to add or change one. The
// schema decides
// which conditions a field has, and the type which input.
import { ApiError, post } from '../api.js';
import { html, keyed } from '../dom.js';
import { show, words } from '../format.js';
import { clausesOf, isGroup, isRule, noValue, selection, whereOf } from '../query.js';
import { number } from '../text.js';
import { control, explain, knownName, optionsOf, read, yesNo } from './field.js';
import { form } from './dialog.js';
import { button } from './parts.js';

/** @type {Record<string, string>} */
const conditionNames = {
  is_not: 'is not',
  not_contains: 'does not contain',
  is_empty: 'has no value',
  is_not_empty: 'has a value',
  greater_than: 'is more than',
  less_than: 'is less than',
  at_least: 'is at least',
  at_most: 'is at most',
  between: 'is between',
};

/** What stands between the values of a list. Numbers have commas in them. @param {Field} [field] */
const separatorOf = (field) => (field?.type === 'number' ? '; ' : ', ');

/** @param {string} condition */
export const conditionName = (condition) =>
  conditionNames[condition] || words(condition).toLowerCase();

/** One value of a field in words. @param {Field | undefined} field @param {unknown} v */
export const valueName = (field, v) =>
  field?.options?.find((o) => o.value === v)?.label ||
  knownName(String(v)) ||
  (field ? show(field, v) : String(v));

/**
 * A rule or a group as a sentence.
 * @param {Filter} rule
 * @param {Field[]} fields
 * @returns {string}
 */
export function sentence(rule, fields) {
  if (isGroup(rule))
    return rule.filters
      .map((r) => (isGroup(r) ? `(${sentence(r, fields)})` : sentence(r, fields)))
      .join(rule.operator === 'or' ? ' or ' : ' and ');
  const field = fields.find((f) => f.key === rule.field);
  const name = field?.label || rule.field;
  if (noValue.has(rule.condition)) return `${name} ${conditionName(rule.condition)}`;
  const values = [rule.value].flat().map((v) => valueName(field, v));
  const separator = rule.condition === 'between' ? ' and ' : separatorOf(field);
  return `${name} ${conditionName(rule.condition)} ${values.join(separator)}`;
}

/**
 * The market of a Preview as a sentence.
 * @param {API['Preview']} preview
 * @param {Field[]} fields those of companies
 */
export function marketText({ request: r, research }, fields) {
  const { filtering_rules: tree, searching_rule: search } = r.company_filters;
  const answer = r.qualifier_rule?.value;
  return (
    [
      ...clausesOf(tree).map((rule) => sentence(rule, fields)),
      search?.value,
      r.contact_filters?.include_keywords?.length &&
        `titles with ${r.contact_filters.include_keywords.join(', ')}`,
      r.qualifier_rule &&
        `${research?.question || 'the question'} ${show({ type: typeof answer }, answer)}`,
    ]
      .filter(Boolean)
      .join(' · ') || 'All companies'
  );
}

/**
 * Returns the values of a field with their counts.
 * @typedef {(field: string, rule?: Rule) => Promise<API['Facet'][]>} Offer
 */

/**
 * The chips of a view, and the button that adds a rule. view returns the current one. entity is
 * that of the records whose values are offered.
 * @param {{
 *   entity?: string,
 *   view: () => Partial<View> & {rules: Rule[], where: Group | null},
 *   fields: Field[],
 *   onChange: (rules: Rule[], where: Group | null) => void,
 * }} options
 */
export function filterBar({ entity, view, fields, onChange }) {
  /** @type {Offer | undefined} */
  const offer = entity
    ? async (field, rule) =>
        (
          await post(`/v1/${entity}/facets`, {
            field,
            ...selection({ ...view(), rules: view().rules.filter((r) => r !== rule) }),
          })
        ).values
    : undefined;
  const all = () => [...view().rules, ...groupsOf(view().where)];
  const change = (/** @type {Filter[]} */ next) =>
    onChange(next.filter(isRule), whereOf(next.filter(isGroup)));
  const add = async (/** @type {Promise<Filter | null>} */ asked) => {
    const made = await asked;
    if (made) change([...all(), made]);
  };
  return html`<div class="chips">
    ${chips(all(), fields, change, offer)}
    <button
      class="button plain"
      type="button"
      data-key="f"
      @click=${() => add(editRule(fields, undefined, offer))}
    >
      + Filter
    </button>
    ${button('+ Group', () => add(editGroup(fields)), 'plain')}
  </div>`;
}

/** The groups that a tree combines with "and". @param {Group | null} where @returns {Filter[]} */
function groupsOf(where) {
  if (!where) return [];
  return where.operator !== 'or' && where.filters.every(isGroup) ? where.filters : [where];
}

/**
 * A chip for each rule and each group.
 * @param {Filter[]} rules
 * @param {Field[]} fields
 * @param {(rules: Filter[]) => void} change
 * @param {Offer} [offer]
 */
function chips(rules, fields, change, offer) {
  const edit = async (/** @type {Filter} */ rule, /** @type {number} */ i) => {
    const changed = await (isGroup(rule) ? editGroup(fields, rule) : editRule(fields, rule, offer));
    if (changed) change(rules.with(i, changed));
  };
  return keyed(
    rules,
    (_, i) => i,
    (rule, i) =>
      html`<span class="chip on">
        <button type="button" class="clip" @click=${() => edit(rule, i)}>
          ${sentence(rule, fields)}
        </button>
        <button
          type="button"
          aria-label=${`Remove: ${sentence(rule, fields)}`}
          @click=${() => change(rules.filter((_, at) => at !== i))}
        >
          ×
        </button>
      </span>`,
  );
}

/**
 * Asks for a group of rules, of which any or all must hold. Groups in it are edited in the same
 * way.
 * @param {Field[]} fields
 * @param {Group} [group]
 * @returns {Promise<Filter | null>}
 */
function editGroup(fields, group = { filters: [] }) {
  let { operator = 'or', filters } = group;
  return form({
    title: 'A group of filters',
    action: 'Apply',
    isReady: () => filters.length > 0,
    submit: async () => (filters.length > 1 ? { operator, filters } : filters[0]),
    body: ({ draw }) => {
      const set = (/** @type {Filter[]} */ next) => {
        filters = next;
        draw();
      };
      const add = async (/** @type {Promise<Filter | null>} */ asked) => {
        const made = await asked;
        if (made) set([...filters, made]);
      };
      return html`<div class="tabs">
          ${[
            ['or', 'Any of them'],
            ['and', 'All of them'],
          ].map(
            ([value, label]) =>
              html`<button
                type="button"
                aria-pressed=${String(operator === value)}
                @click=${() => {
                  operator = value;
                  draw();
                }}
              >
                ${label}
              </button>`,
          )}
        </div>
        <div class="chips">${chips(filters, fields, set)}</div>
        <div>
          ${button(
            '+ Filter',
            () => add(editRule(fields)),
            'plain',
          )}${button('+ Group', () => add(editGroup(fields)), 'plain')}
        </div>`;
    },
  });
}

/** Whether a condition takes several values. @param {Field} field @param {string} condition */
const takesList = (field, condition) =>
  /^is(_not)?$/.test(condition) || (field.type === 'multi' && /contains$/.test(condition));

/**
 * The conditions of a field without those that say the same as others.
 * @param {Field} field
 * @param {string} [used]
 */
const conditionsOf = ({ conditions }, used) =>
  conditions.filter(
    (c) =>
      c === used ||
      (!(c === 'equals' && conditions.includes('is')) &&
        !(/^(greater|less)_than$/.test(c) && conditions.includes('is_before'))),
  );

/**
 * The rule that was entered, which is refused if it cannot be read.
 * @param {Field} field
 * @param {Values} values
 */
function readRule(field, { condition, value }) {
  const result = {
    field: field.key,
    condition,
    ...(noValue.has(condition) ? {} : { value: parse(field, condition, value) }),
  };
  const values = [result.value].flat();
  const [first, second] = /** @type {string[]} */ (values); // or numbers
  const unread = field.type === 'number' && values.find((v) => typeof v === 'string');
  const isRange = condition === 'between';
  const isMissing = isRange
    ? values.length < 2 || values.includes(null)
    : first === null || first === '';
  const message = isMissing
    ? isRange
      ? 'Enter both values.'
      : 'Enter a value.'
    : unread
      ? explain('number', unread, unread)
      : isRange && first > second
        ? 'The first value is greater than the second.'
        : '';
  if (message) throw new ApiError(422, '', message, [{ path: 'value', message }]);
  return result;
}

/**
 * The inputs of a rule.
 * @param {FormState} state
 * @param {Field[]} usable
 * @param {Field} field
 * @param {string[]} conditions
 * @param {API['Facet'][]} offered
 */
function ruleFields(state, usable, field, conditions, offered) {
  const { condition } = state.values;
  return html`<div class="columns">
    <div class="field">
      <label for="rule-field">Field</label>${control({
        id: 'rule-field',
        name: 'field',
        required: true,
        options: usable.map((f) => ({ value: f.key, label: f.label })),
        value: field.key,
        set: (v) => {
          state.values.value = null;
          state.set('field', v);
        },
      })}
    </div>
    <div class="field">
      <label for="rule-condition">Condition</label>${control({
        id: 'rule-condition',
        name: 'condition',
        required: true,
        options: conditions.map((c) => ({ value: c, label: conditionName(c) })),
        value: condition,
        set: (v) => {
          if ([v, condition].includes('between')) state.values.value = null;
          state.set('condition', v);
        },
      })}
    </div>
    ${
      !noValue.has(condition) &&
      html`<div class="field">
        <label for="rule-value">Value</label>${valueInput(field, condition, state, offered)}
        ${
          state.errors.value &&
          html`<span class="error" id="rule-value-note">${state.errors.value}</span>`
        }
      </div>`
    }
  </div>`;
}

/**
 * Asks for a rule.
 * @param {Field[]} fields
 * @param {Rule} [rule]
 * @param {Offer} [offer]
 * @returns {Promise<Rule | null>}
 */
export function editRule(fields, rule, offer) {
  const usable = fields
    .filter((f) => f.filterable && f.conditions.length > 0)
    .sort(
      (a, b) => Number(a.key === 'id') - Number(b.key === 'id') || a.label.localeCompare(b.label),
    );
  /** @type {Record<string, API['Facet'][]>} */
  const offered = {};
  const fieldOf = (/** @type {FormState} */ { values }) =>
    usable.find((f) => f.key === values.field) || usable[0];
  return form(
    {
      title: rule ? 'Change the filter' : 'Add a filter',
      action: 'Apply',
      body: (state) => {
        const field = fieldOf(state);
        const conditions = conditionsOf(field, rule?.condition);
        if (!conditions.includes(state.values.condition)) [state.values.condition] = conditions;
        if (offer && !offered[field.key] && hasFacets(field)) {
          offered[field.key] = [];
          void offer(field.key, rule).then(
            (values) => {
              offered[field.key] = values;
              state.draw();
            },
            () => {},
          );
        }
        return ruleFields(state, usable, field, conditions, offered[field.key]);
      },
      submit: async (state) => readRule(fieldOf(state), state.values),
    },
    {
      field: rule?.field || usable[0]?.key,
      condition: rule?.condition || '',
      value: rule?.value ?? null,
    },
  );
}

/** Whether the values of a field recur, so that they are offered. @param {Field} field */
const hasFacets = ({ type, key, sortable }) =>
  ['text', 'enum', 'multi'].includes(type) && (sortable || type === 'multi') && key !== 'id';

/**
 * Options with how many records have each.
 * @param {{value: string, label: string}[]} options
 * @param {API['Facet'][]} offered
 */
const counted = (options, offered) =>
  options.map(({ value, label }) => {
    const found = offered.find((o) => o.value === value);
    return { value, label: found ? `${label} (${number(found.count)})` : label };
  });

/**
 * @param {Field} field
 * @param {string} condition
 * @param {FormState} state
 * @param {API['Facet'][]} [offered]
 */
function valueInput(field, condition, state, offered = []) {
  const set = (/** @type {unknown} */ v) => state.set('value', v);
  const value = Array.isArray(state.values.value)
    ? state.values.value.join(separatorOf(field))
    : state.values.value;
  const base = {
    id: 'rule-value',
    name: 'value',
    value,
    set,
    required: true,
    error: state.errors.value,
  };
  if (field.type === 'boolean')
    return control({ ...base, value: String(value ?? ''), options: yesNo() });
  if (field.options) return control({ ...base, options: counted(field.options, offered) });
  const allowed = allowedValues(field);
  if (allowed.length > 0)
    return control({ ...base, options: counted(optionsOf(allowed), offered) });
  if (field.type === 'reference')
    return control({
      ...base,
      type: 'reference',
      reference: field.reference || guessReference(field.key),
    });
  const type = { date: 'date', datetime: 'date', number: 'number' }[field.type] || 'text';
  const shown = (/** @type {unknown} */ v) => (type === 'date' ? String(v ?? '').slice(0, 10) : v);
  if (condition === 'between') {
    const bounds = [state.values.value ?? []].flat();
    return html`<span class="range"
      >${['From', 'To'].map(
        (label, i) =>
          html`<span class="field"
            ><label class="visually-hidden" for=${i ? 'rule-to' : 'rule-value'}>${label}</label
            >${control({
              ...base,
              label,
              id: i ? 'rule-to' : 'rule-value',
              type,
              value: shown(bounds[i]),
              placeholder: label,
              set: (v) => set([0, 1].map((at) => (at === i ? v : (bounds[at] ?? null)))),
            })}</span
          >`,
      )}</span
    >`;
  }
  if (type === 'date') return control({ ...base, type, value: shown(value) });
  return control({
    ...base,
    type,
    suggestions: offered.map((o) => ({ value: String(o.value), label: number(o.count) })),
    placeholder: !takesList(field, condition)
      ? ''
      : type === 'number'
        ? 'one or several, with semicolons'
        : 'one or several, with commas',
  });
}

/** @param {Field} field @returns {string[]} */
export function allowedValues(field) {
  return field.enum_field_settings?.allowed_values || [];
}

/** The entity that a field refers to. @param {string} key */
export function guessReference(key) {
  const name = key.replace(/_ids?$/, '');
  /** @type {Record<string, string>} */
  const known = {
    owner: 'users',
    user: 'users',
    tags: 'tags',
    template: 'sequence-templates',
    parent: 'accounts',
  };
  return known[name] || (name.endsWith('y') ? `${name.slice(0, -1)}ies` : `${name}s`);
}

/**
 * @param {Field} field
 * @param {string} condition
 * @param {unknown} value
 */
function parse(field, condition, value) {
  if (field.type === 'boolean') return value === true || value === 'true';
  if (typeof value !== 'string') return value;
  const isText = !['reference', 'date', 'datetime'].includes(field.type);
  const parts =
    isText && takesList(field, condition)
      ? value
          .split(field.type === 'number' ? /;|,\s/ : ',')
          .map((s) => s.trim())
          .filter(Boolean)
      : [value.trim()];
  const values = parts.map((part) => read(field.type === 'number' ? 'number' : 'text', part));
  return values.length > 1 ? values : (values[0] ?? null);
}
