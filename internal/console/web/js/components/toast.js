// @ts-check
// Short messages at the bottom of the page, with an undo where there is one.
import { html, keyed, render } from '../dom.js';
import { t } from '../text.js';

const shownFor = 8000;
/** @typedef {{id: number, message: string, bad: boolean, undo?: () => void, left: number, since: number, timer?: ReturnType<typeof setTimeout>}} Toast */
/** @type {Toast[]} */
let toasts = [];
let next = 1;
const place = document.createElement('div');
place.className = 'toasts';
place.setAttribute('role', 'status');

/** @param {string} message @param {{undo?: () => void, bad?: boolean}} [options] */
export function toast(message, { undo, bad = false } = {}) {
  if (!place.isConnected) document.body.append(place);
  const entry = { id: next++, message, bad, undo, left: shownFor, since: 0 };
  toasts = [...toasts.slice(-3), entry];
  resume(entry);
  draw();
}

/** @param {Toast} entry */
function resume(entry) {
  entry.since = Date.now();
  entry.timer = setTimeout(() => close(entry), entry.left);
}

/** @param {Toast} entry */
function pause(entry) {
  clearTimeout(entry.timer);
  entry.left = Math.max(1000, entry.left - (Date.now() - entry.since));
}

/** @param {Toast} entry */
function close(entry) {
  clearTimeout(entry.timer);
  toasts = toasts.filter((other) => other !== entry);
  draw();
}

function draw() {
  render(keyed(toasts, (entry) => entry.id, (entry) => html`
    <div class=${entry.bad ? 'toast bad' : 'toast'} @mouseenter=${() => pause(entry)} @mouseleave=${() => resume(entry)}
      @focusin=${() => pause(entry)} @focusout=${() => resume(entry)}>
      <span class="wrap">${entry.message}</span>
      ${entry.undo && html`<button type="button" @click=${() => { close(entry); entry.undo?.(); }}>${t('Undo')}</button>`}
      <button type="button" aria-label=${t('Close')} @click=${() => close(entry)}>×</button>
    </div>`), place);
}
