// @ts-check
// The few values that every page shares, one rendering per animation frame, and the keys.
import { get, request } from './api.js';

/**
 * @type {{
 *   me: API['Me'] | null,
 *   organization: API['Organization'] | null,
 *   preferences: Preferences,
 * }}
 */
export const session = { me: null, organization: null, preferences: {} };

const preferences = '/v1/me/preferences';

/** Reads what the user has chosen, on any device. */
export async function readPreferences() {
  session.preferences = (await get(preferences)).values;
}

/** @type {Promise<unknown>} */
let saving = Promise.resolve();

/**
 * Remembers a choice of the user. What another window has saved meanwhile stays.
 * @param {string} name
 * @param {unknown} value
 */
export function prefer(name, value) {
  session.preferences[name] = value;
  saving = saving
    .catch(() => {})
    .then(async () =>
      request('PUT', preferences, {
        values: { ...(await get(preferences)).values, [name]: value },
      }),
    );
  return saving;
}

/**
 * The list that was left last.
 * @type {{path: string, href: string, total: number, ids: string[], first: number}}
 */
export const origin = { path: '', href: '', total: 0, ids: [], first: 0 };

/** Whether the user may do what needs an access. @param {'read' | 'write' | 'admin'} needed */
export function may(needed) {
  const order = ['read', 'write', 'admin'];
  return session.me !== null && order.indexOf(session.me.access) >= order.indexOf(needed);
}

const idleAfter = 15 * 60_000;
let lastInput = Date.now();
for (const event of ['pointerdown', 'keydown'])
  addEventListener(
    event,
    () => {
      lastInput = Date.now();
    },
    { passive: true },
  );

/**
 * Whether somebody looks at the page. A page is read again only then, so that it keeps no session
 * alive.
 */
export const isWatched = () => !document.hidden && Date.now() - lastInput < idleAfter;

/** @type {(() => void) | null} */
let draw = null;
let scheduled = false;

/** @param {() => void} fn */
export function onUpdate(fn) {
  draw = fn;
}

/** Renders the page again in the next animation frame. */
export function update() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    draw?.();
  });
}

/** Tells screen readers about a result. @param {string} message */
export function announce(message) {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    const region = document.getElementById('announcer');
    if (region) region.textContent = message;
  }, 400);
}
/** @type {ReturnType<typeof setTimeout> | undefined} */
let announcing;

// Keyboard shortcuts. A page's keys come before the global ones.

/** @type {Keys[]} */
const layers = [];
let pending = '';
/** @type {ReturnType<typeof setTimeout> | undefined} */
let pendingTimer;

/** @param {Keys} keys @returns {() => void} */
export function addKeys(keys) {
  layers.unshift(keys);
  return () => {
    const at = layers.indexOf(keys);
    if (at >= 0) layers.splice(at, 1);
  };
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    !['checkbox', 'radio', 'button'].includes(/** @type {HTMLInputElement} */ (target).type)
  );
}

/** @param {KeyboardEvent} event */
function keyName(event) {
  const ctrl = event.ctrlKey || event.metaKey;
  const shift = event.shiftKey && event.key.length > 1;
  const modifiers = [ctrl && 'Ctrl', event.altKey && 'Alt', shift && 'Shift'];
  return [...modifiers.filter(Boolean), event.key].join(' ');
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const modified = event.ctrlKey || event.metaKey || event.altKey;
  const single = event.key.length === 1 && !modified;
  if (single && (isTyping(event.target) || session.preferences.keys_off)) return;
  // the browser closes it on Escape
  if (document.querySelector('dialog[open]') && !modified) return;
  if (
    event.key === 'Enter' &&
    !modified &&
    event.target instanceof Element &&
    event.target.matches('a, button, summary')
  )
    return; // the browser presses it
  const name = pending + keyName(event);
  pending = '';
  clearTimeout(pendingTimer);
  for (const keys of layers) {
    const act = keys[name];
    if (act) {
      event.preventDefault();
      act(event);
      return;
    }
  }
  if (name === 'g') {
    pending = 'g ';
    pendingTimer = setTimeout(() => {
      pending = '';
    }, 1500);
  }
});
