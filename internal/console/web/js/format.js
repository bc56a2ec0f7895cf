// @ts-check
// Formats dates in the time zone of the organization, and values by their type.
import { number, why } from './text.js';

let zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const browserZone = zone;
/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** @param {string} timeZone */
export function setZone(timeZone) {
  zone = timeZone;
  formats.clear();
}

/** The name of the organization's time zone, if it differs from that of the browser. */
export function foreignZone() {
  return zone === browserZone ? '' : zone;
}

/** @param {string} name @param {Intl.DateTimeFormatOptions} options */
function format(name, options) {
  let f = formats.get(name);
  if (!f) {
    f = new Intl.DateTimeFormat('en-GB', { timeZone: zone, ...options });
    formats.set(name, f);
  }
  return f;
}

/** @param {string | number | Date} at */
export function dateTime(at) {
  return format(`dateTime${yearOf(at) || ''}`, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: yearOf(at),
    hour: '2-digit',
    minute: '2-digit',
  })
    .format(new Date(at))
    .replaceAll(',', '');
}

/** @param {string | number | Date} at */
export function time(at) {
  return format('time', { hour: '2-digit', minute: '2-digit' }).format(new Date(at));
}

/** @param {string | number | Date} at */
export function day(at) {
  return format(`day${yearOf(at) || ''}`, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: yearOf(at),
  })
    .format(new Date(at))
    .replaceAll(',', '');
}

/** @param {string | number | Date} at */
export function shortDay(at) {
  return format('shortDay', { weekday: 'short', day: 'numeric', month: 'short' })
    .format(new Date(at))
    .replaceAll(',', '');
}

/** @param {string | number | Date} at */
export function longDay(at) {
  return format('longDay', { weekday: 'long', day: 'numeric', month: 'long' })
    .format(new Date(at))
    .replaceAll(',', '');
}

/**
 * The year is shown unless it is the current one.
 * @param {string | number | Date} at
 * @returns {'numeric' | undefined}
 */
function yearOf(at) {
  return new Date(at).getFullYear() === new Date().getFullYear() ? undefined : 'numeric';
}

/** The date in the organization's time zone, as 2026-11-16. @param {string | number | Date} at */
export function isoDay(at) {
  return new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format(new Date(at));
}

const minute = 60_000;
const oneDay = 24 * 60 * minute;

/**
 * The beginning of a day, counted from today, in the organization's time zone.
 * @param {number} days
 * @returns {Date}
 */
export function startOfDay(days) {
  const at = Date.now() + days * oneDay;
  const wanted = isoDay(at);
  let low = at - oneDay - 1;
  let high = at;
  while (high - low > minute) {
    // the minute at which the date changes
    const middle = Math.floor((low + high) / 2);
    if (isoDay(middle) === wanted) high = middle;
    else low = middle;
  }
  return new Date(Math.round(high / minute) * minute);
}

/**
 * A time as the value of an input, 2026-11-16T09:00, in the organization's time zone.
 * @param {string} at
 */
export function toInput(at) {
  return at ? `${isoDay(at)}T${time(at)}` : '';
}

/**
 * The time of an input in the organization's time zone.
 * @param {string} text
 * @returns {string | null}
 */
export function fromInput(text) {
  const wanted = Date.parse(`${text}Z`);
  if (Number.isNaN(wanted)) return text || null;
  let at = wanted;
  // twice, because the offset may change in between
  for (let i = 0; i < 2; i++) at += wanted - Date.parse(`${toInput(new Date(at).toISOString())}Z`);
  return new Date(at).toISOString();
}

const steps = /** @type {[number, string][]} */ ([
  [1, 'min'],
  [60, 'h'],
  [24 * 60, 'd'],
  [7 * 24 * 60, 'w'],
  [365 * 24 * 60, 'y'],
]);

/** How long ago, in one unit. @param {string | number | Date} at @param {number} [now] */
export function ago(at, now = Date.now()) {
  const minutes = (now - new Date(at).getTime()) / minute;
  if (minutes < 1) return 'just now';
  const [size, unit] = steps.findLast(([least]) => minutes >= least) || steps[0];
  return `${Math.floor(minutes / size)} ${unit}`;
}

/**
 * @param {{type: string, key?: string}} field
 * @param {unknown} value
 * @returns {string}
 */
export function show(field, value) {
  if (value === null || value === undefined || value === '') return '';
  if (Array.isArray(value)) return value.map((v) => show(field, v)).join(', ');
  switch (field.type) {
    case 'datetime':
      return dateTime(String(value));
    case 'date':
      return day(`${value}T12:00:00Z`);
    case 'boolean':
      return value ? 'yes' : 'no';
    case 'number':
      return field.key?.endsWith('year') || Number.isNaN(Number(value))
        ? String(value)
        : number(Number(value));
    case 'enum':
    case 'select':
      return words(String(value));
  }
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * Why something happens at a time. The API counts steps from 0, people from 1.
 * @param {string | null | undefined} reason
 */
export function because(reason) {
  if (/^[a-z]+(_[a-z]+)+$/.test(reason || '')) return words(reason || '').toLowerCase();
  return (reason || '')
    .replace(/\bstep (\d+)/g, (_, n) => `step ${Number(n) + 1}`)
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, dateTime)
    .replace(/(?<= stopped: )\w+/, why)
    .replace(/(?<=\()[a-z]+(_[a-z]+)*(?=\))/g, why);
}

/**
 * The parts of a text between commas.
 * @param {string | null | undefined} text
 * @returns {string[]}
 */
export const listOf = (text) =>
  (text || '')
    .split(',')
    .map((s) => s.trim())
    .filter(Boolean);

/** @type {Record<string, string>} */
const called = {
  todo: 'to-do',
  enum: 'one of several values',
  multi_select: 'any of several values',
  boolean: 'yes or no',
};

/** A name in words: `first_name` is "First name". @param {string} name */
export function words(name) {
  const text = (called[name] || name)
    .replaceAll('_', ' ')
    .trim()
    .replace(/\b(api|csv|id|tam|url)\b/gi, (s) => s.toUpperCase())
    .replace(/linkedin/gi, 'LinkedIn');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
