// @ts-check
// The filter builder: chips for the rules and groups of rules, a form to add or change one. The schema decides
// which conditions a field has, and the type which input.
import { html, keyed } from '../dom.js';
import { show, words } from '../format.js';
import { whereOf } from '../query.js';
import { t } from '../text.js';
import { control, knownName, optionsOf, read } from './field.js';
import { FormState, open } from './dialog.js';

const withoutValue = new Set(['is_empty', 'is_not_empty']);

/** @type {Record<string, string>} */
const conditionNames = {
  is_not: t('is not'), not_contains: t('does not contain'), is_empty: t('has no value'), is_not_empty: t('has a value'), greater_than: t('is more than'), less_than: t('is less than'),
};

/** @param {string} condition */
export const conditionName = (condition) => conditionNames[condition] || words(condition).toLowerCase();

/** A rule or a group as a sentence. @param {any} rule @param {Field[]} fields @returns {string} */
export function sentence(rule, fields) {
  if (rule.filters) return rule.filters.map((/** @type {any} */ r) => (r.filters ? `(${sentence(r, fields)})` : sentence(r, fields))).join(rule.operator === 'or' ? t(' or ') : t(' and '));
  const field = fields.find((f) => f.key === rule.field);
  const name = field?.label || rule.field;
  if (withoutValue.has(rule.condition)) return `${name} ${conditionName(rule.condition)}`;
  const values = (Array.isArray(rule.value) ? rule.value : [rule.value]).map((/** @type {unknown} */ v) => field?.options?.find((o) => o.value === v)?.label || knownName(String(v)) || (field ? show(field, v) : String(v)));
  return `${name} ${conditionName(rule.condition)} ${values.join(', ')}`;
}

/**
 * The chips of a view, and the button that adds a rule. view returns the current one.
 * @param {{view: () => {rules: Rule[], where: any}, fields: Field[], onChange: (rules: Rule[], where: any) => void}} options
 */
export function filterBar({ view, fields, onChange }) {
  const all = () => [...view().rules, ...groupsOf(view().where)];
  const change = (/** @type {any[]} */ next) => onChange(next.filter((r) => !r.filters), whereOf(next.filter((r) => r.filters)));
  const add = async (/** @type {any} */ made) => { if (await made) change([...all(), await made]); };
  return html`<div class="chips">
    ${chips(all(), fields, change)}
    <button class="button plain" type="button" data-key="f" @click=${() => add(editRule(fields))}>${t('+ Filter')}</button>
    <button class="button plain" type="button" @click=${() => add(editGroup(fields))}>${t('+ Group')}</button>
  </div>`;
}

/** The groups that a tree combines with "and". @param {any} where @returns {any[]} */
const groupsOf = (where) => (!where ? [] : where.operator !== 'or' && where.filters.every((/** @type {any} */ r) => r.filters) ? where.filters : [where]);

/** A chip for each rule and each group. @param {any[]} rules @param {Field[]} fields @param {(rules: any[]) => void} change */
function chips(rules, fields, change) {
  const edit = async (/** @type {any} */ rule, /** @type {number} */ i) => {
    const changed = await (rule.filters ? editGroup(fields, rule) : editRule(fields, rule));
    if (changed) change(rules.with(i, changed));
  };
  return keyed(rules, (_, i) => i, (rule, i) => html`<span class="chip on">
    <button type="button" class="clip" @click=${() => edit(rule, i)}>${sentence(rule, fields)}</button>
    <button type="button" aria-label=${t('Remove: {rule}', { rule: sentence(rule, fields) })} @click=${() => change(rules.filter((_, at) => at !== i))}>×</button>
  </span>`);
}

/**
 * Asks for a group of rules, of which any or all must hold. Groups in it are edited in the same way.
 * @param {Field[]} fields
 * @param {any} [group]
 * @returns {Promise<any>}
 */
function editGroup(fields, group) {
  let { operator = 'or', filters = [] } = group || {};
  return open((close, draw) => {
    const set = (/** @type {any[]} */ next) => { filters = next; draw(); };
    const add = async (/** @type {any} */ made) => { if (await made) set([...filters, await made]); };
    return html`<form @submit=${(event) => { event.preventDefault(); if (filters.length) close(filters.length > 1 ? { operator, filters } : filters[0]); }}>
      <h2>${t('A group of filters')}</h2>
      <div class="tabs">${[['or', t('Any of them')], ['and', t('All of them')]].map(([value, label]) => html`<button type="button" aria-pressed=${String(operator === value)} @click=${() => { operator = value; draw(); }}>${label}</button>`)}</div>
      <div class="chips">${chips(filters, fields, set)}</div>
      <div><button class="button plain" type="button" @click=${() => add(editRule(fields))}>${t('+ Filter')}</button>
        <button class="button plain" type="button" @click=${() => add(editGroup(fields))}>${t('+ Group')}</button></div>
      <div class="buttons"><button class="button" type="button" @click=${() => close(null)}>${t('Cancel')}</button>
        <button class="button primary" ?disabled=${filters.length === 0}>${t('Apply')}</button></div>
    </form>`;
  });
}

/** Whether a condition takes several values. @param {Field} field @param {string} condition */
const takesList = (field, condition) => /^is(_not)?$/.test(condition) || (field.type === 'multi' && /contains$/.test(condition));

/** The conditions of a field without those that say the same as others. @param {Field} field @param {string} [used] */
const conditionsOf = ({ conditions }, used) => conditions.filter((c) => c === used || !(c === 'equals' && conditions.includes('is')) && !(/^(greater|less)_than$/.test(c) && conditions.includes('is_before')));

/**
 * Asks for a rule.
 * @param {Field[]} fields
 * @param {Rule} [rule]
 * @returns {Promise<Rule | null>}
 */
export function editRule(fields, rule) {
  const usable = fields.filter((f) => f.filterable && f.conditions.length > 0).sort((a, b) => Number(a.key === 'id') - Number(b.key === 'id') || a.label.localeCompare(b.label));
  const state = new FormState({ field: rule?.field || usable[0]?.key, condition: rule?.condition || '', value: rule?.value ?? null });
  return open((close, draw) => {
    state.draw = draw;
    const field = usable.find((f) => f.key === state.values.field) || usable[0];
    const conditions = conditionsOf(field, rule?.condition);
    if (!conditions.includes(state.values.condition)) [state.values.condition] = conditions;
    const { condition } = state.values;
    return html`<form @submit=${(event) => {
      event.preventDefault();
      const result = { field: field.key, condition, ...(withoutValue.has(condition) ? {} : { value: parse(field, condition, state.values.value) }) };
      if (withoutValue.has(condition) || (result.value !== null && result.value !== '')) return close(result);
      state.errors.value = t('Enter a value.');
      draw();
      document.getElementById('rule-value')?.focus();
    }}>
      <h2>${rule ? t('Change the filter') : t('Add a filter')}</h2>
      <div class="columns">
        <div class="field"><label for="rule-field">${t('Field')}</label>${control({ id: 'rule-field', name: 'field', label: t('Field'), required: true,
          options: usable.map((f) => ({ value: f.key, label: f.label })), value: field.key, set: (v) => { state.values.value = null; state.set('field', v); } })}</div>
        <div class="field"><label for="rule-condition">${t('Condition')}</label>${control({ id: 'rule-condition', name: 'condition', label: t('Condition'), required: true,
          options: conditions.map((c) => ({ value: c, label: conditionName(c) })), value: condition, set: (v) => state.set('condition', v) })}</div>
        ${!withoutValue.has(condition) && html`<div class="field"><label for="rule-value">${t('Value')}</label>${valueInput(field, condition, state)}
          ${state.errors.value && html`<span class="error" id="rule-value-note">${state.errors.value}</span>`}</div>`}
      </div>
      <div class="buttons"><button class="button" type="button" @click=${() => close(null)}>${t('Cancel')}</button>
        <button class="button primary">${t('Apply')}</button></div>
    </form>`;
  });
}

/** @param {Field} field @param {string} condition @param {FormState} state */
function valueInput(field, condition, state) {
  const set = (/** @type {any} */ v) => state.set('value', v);
  const value = Array.isArray(state.values.value) ? state.values.value.join(', ') : state.values.value;
  const base = { id: 'rule-value', name: 'value', label: t('Value'), value, set, required: true, error: state.errors.value };
  if (field.type === 'boolean') return control({ ...base, value: String(value ?? ''), options: [{ value: 'true', label: t('yes') }, { value: 'false', label: t('no') }] });
  if (field.options) return control({ ...base, options: field.options });
  const allowed = allowedValues(field);
  if (allowed.length > 0) return control({ ...base, options: optionsOf(allowed) });
  if (field.type === 'reference') return control({ ...base, type: 'reference', reference: field.reference || guessReference(field.key) });
  if (field.type === 'date' || field.type === 'datetime') return control({ ...base, type: 'date', value: String(value ?? '').slice(0, 10) });
  return control({ ...base, type: field.type === 'number' ? 'number' : 'text', placeholder: takesList(field, condition) ? t('one or several, with commas') : '' });
}

/** @param {Field} field @returns {string[]} */
export function allowedValues(field) {
  const settings = field.enum_field_settings;
  const values = settings?.allowed_values || settings?.values || (Array.isArray(settings) ? settings : []);
  return values.map((/** @type {any} */ v) => (typeof v === 'string' ? v : v.value));
}

/** The entity that a field refers to. @param {string} key */
export function guessReference(key) {
  const name = key.replace(/_ids?$/, '');
  /** @type {Record<string, string>} */
  const known = { owner: 'users', user: 'users', tags: 'tags', template: 'sequence-templates', parent: 'accounts' };
  return known[name] || (name.endsWith('y') ? `${name.slice(0, -1)}ies` : `${name}s`);
}

/** @param {Field} field @param {string} condition @param {any} value */
function parse(field, condition, value) {
  if (field.type === 'boolean') return value === true || value === 'true';
  if (typeof value !== 'string') return value;
  if (field.type === 'datetime' && /^\d{4}-\d\d-\d\d$/.test(value)) return `${value}T00:00:00Z`;
  const isText = !['reference', 'date', 'datetime'].includes(field.type);
  const parts = isText && takesList(field, condition) ? value.split(',').map((s) => s.trim()).filter(Boolean) : [value.trim()];
  const values = parts.map((part) => read(field.type === 'number' ? 'number' : 'text', part));
  return values.length === 1 ? values[0] : values;
}
