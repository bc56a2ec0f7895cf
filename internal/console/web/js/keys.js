// @ts-check
// Keyboard shortcuts. A page's keys come before the global ones.
import { session } from './state.js';

/** @type {Keys[]} */
const layers = [];
let pending = '';
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

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
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
    && !['checkbox', 'radio', 'button'].includes(/** @type {HTMLInputElement} */ (target).type);
}

/** @param {KeyboardEvent} event */
function nameOf(event) {
  const ctrl = event.ctrlKey || event.metaKey;
  return `${ctrl ? 'Ctrl ' : ''}${event.altKey ? 'Alt ' : ''}${event.shiftKey && event.key.length > 1 ? 'Shift ' : ''}${event.key}`;
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const modified = event.ctrlKey || event.metaKey || event.altKey;
  const single = event.key.length === 1 && !modified;
  if (single && (isTyping(event.target) || session.preferences.keys_off)) return;
  if (document.querySelector('dialog[open]') && event.key !== 'Escape' && !modified) return;
  if (event.key === 'Enter' && !modified && event.target instanceof Element && event.target.matches('a, button, summary')) return; // the browser presses it
  const name = pending + nameOf(event);
  pending = '';
  clearTimeout(timer);
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
    timer = setTimeout(() => {
      pending = '';
    }, 1500);
  }
});
