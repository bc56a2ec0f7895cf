// @ts-check
// The state of a list in its URL: q, f, where, sort, page, cols. Equal views have equal URLs.
import { is } from './api.js';

/** @returns {View} */
export const emptyView = () => ({ q: '', rules: [], where: null, sort: '', page: 1, cols: [] });

export const noValue = new Set(['is_empty', 'is_not_empty']);

/** @param {string} s */
const escape = (s) => s.replace(/[\\,]/g, (c) => `\\${c}`);

/** Splits at commas that are not escaped. @param {string} s */
function split(s) {
  const parts = [''];
  for (let i = 0; i < s.length; i++) {
    if (s[i] === '\\' && i + 1 < s.length) parts[parts.length - 1] += s[++i];
    else if (s[i] === ',') parts.push('');
    else parts[parts.length - 1] += s[i];
  }
  return parts;
}

/** @param {Rule} rule */
export function encodeRule({ field, condition, value }) {
  if (noValue.has(condition)) return `${field}:${condition}`;
  const values = Array.isArray(value) ? value : [value];
  // a list of one ends with a comma
  const list = Array.isArray(value) && (value.length === 1 || value.at(-1) === '') ? ',' : '';
  return `${field}:${condition}:${values.map((v) => escape(literal(v))).join(',')}${list}`;
}

/** A text that looks like a number or boolean is quoted. @param {unknown} v */
function literal(v) {
  if (typeof v !== 'string') return String(v);
  return /^(-?[\d.]+(e[+-]?\d+)?|true|false|".*)$/i.test(v) ? JSON.stringify(v) : v;
}

/** @param {string} text @returns {unknown} */
function parseLiteral(text) {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text.startsWith('"')) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
}

/** @param {string} text @returns {Rule | null} */
export function decodeRule(text) {
  const [, field, condition, rest] = /^([^:]+):([a-z_]+)(?::([\s\S]*))?$/.exec(text) || [];
  if (!field) return null;
  if (noValue.has(condition)) return { field, condition };
  if (rest === undefined) return null;
  const parts = split(rest);
  if (parts.length === 1) return { field, condition, value: parseLiteral(parts[0]) };
  if (parts.at(-1) === '') parts.pop();
  return { field, condition, value: parts.map(parseLiteral) };
}

/** @param {Partial<View>} view @param {Record<string, string | undefined>} [others] */
export function encode(view, others = {}) {
  const params = new URLSearchParams();
  if (view.q) params.set('q', view.q);
  for (const rule of view.rules || []) params.append('f', encodeRule(rule));
  if (view.where) params.set('where', JSON.stringify(view.where));
  if (view.sort) params.set('sort', view.sort);
  if (view.page && view.page > 1) params.set('page', String(view.page));
  if (view.cols?.length) params.set('cols', view.cols.join(','));
  for (const [name, value] of Object.entries(others)) if (value) params.set(name, value);
  const text = params.toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
  return text ? `?${text}` : '';
}

/**
 * The address of the records that an import has created.
 * @param {string} source of the records
 * @param {{created_at: string, finished_at: string | null}} i the import, which has ended
 */
export const madeBy = (source, i) =>
  encode({
    rules: [is('source', source), is('created_at', [i.created_at, i.finished_at], 'between')],
  });

/** Whether it is a rule, not a group. @param {Filter} filter @returns {filter is Rule} */
export const isRule = (filter) => 'field' in filter;

/** Whether it is a group, not a rule. @param {Filter} filter @returns {filter is Group} */
export const isGroup = (filter) => 'filters' in filter;

/** A tree that the console can show. @param {Group | null} tree as it is in the address */
function checked(tree) {
  /** @param {Partial<Rule & Group> | null} x @returns {boolean} */
  const canShow = (x) =>
    Array.isArray(x?.filters) &&
    x.filters.every((/** @type {Partial<Rule & Group>} */ r) => r?.field || canShow(r));
  if (tree && !canShow(tree)) throw new Error('not a group');
  return tree;
}

/** Several groups as one tree. @param {Group[]} groups @returns {Group | null} */
export const whereOf = (groups) =>
  groups.length > 1 ? { operator: 'and', filters: groups } : groups[0] || null;

/**
 * The rules and the tree of a filter of the API, which is a list or a group.
 * @param {Filter[] | Group | null | undefined} filter
 * @returns {{rules: Rule[], where: Group | null}}
 */
export function partsOf(filter) {
  const all = clausesOf(filter);
  return { rules: all.filter(isRule), where: whereOf(all.filter(isGroup)) };
}

/**
 * What must all hold for a filter of the API.
 * @param {Filter[] | Group | null | undefined} filter
 * @returns {Filter[]}
 */
export function clausesOf(filter) {
  if (Array.isArray(filter)) return filter;
  return filter?.operator === 'or' ? [filter] : filter?.filters || [];
}

const known = new Set(['q', 'f', 'where', 'sort', 'page', 'cols']);

/**
 * @param {URLSearchParams} params
 * @param {string[]} [others]
 * @returns {View & {unknown: string[]}}
 */
export function decode(params, others = []) {
  const view = emptyView();
  /** @type {string[]} */
  const unknown = [...params.keys()].filter((name) => !known.has(name) && !others.includes(name));
  view.q = params.get('q') || '';
  for (const f of params.getAll('f')) {
    const rule = decodeRule(f);
    if (rule) view.rules.push(rule);
    else unknown.push(`f=${f}`);
  }
  try {
    view.where = checked(JSON.parse(params.get('where') || 'null'));
  } catch {
    unknown.push('where');
  }
  view.sort = params.get('sort') || '';
  view.page = Math.max(1, Number.parseInt(params.get('page') || '1', 10) || 1);
  view.cols = (params.get('cols') || '').split(',').filter(Boolean);
  return { ...view, unknown };
}

/**
 * The body of a list request for a view.
 * @param {Partial<View>} view
 * @param {number} page
 * @param {number} size
 */
export function body(view, page, size) {
  return { ...selection(view), ...(view.sort ? { sort: view.sort } : {}), page, page_size: size };
}

/**
 * The part of a request that says which records.
 * @param {Partial<View>} view
 * @returns {{search?: string, filters?: Filter[]}}
 */
export function selection(view) {
  const filters = view.where ? [...(view.rules || []), view.where] : view.rules || [];
  return { ...(view.q ? { search: view.q } : {}), ...(filters.length ? { filters } : {}) };
}
