// @ts-check
// Small pieces that many pages share.
import { ApiError, hooks, messageOf } from '../api.js';
import { html, keyed, render } from '../dom.js';
import { dateTime, words } from '../format.js';
import { link } from '../router.js';
import { may, update } from '../state.js';
import { number, plural } from '../text.js';

/**
 * @param {string} label
 * @param {(event: Event) => unknown} act
 * @param {string} [kind] primary, danger or plain
 * @param {boolean} [isDisabled]
 */
export const button = (label, act, kind = '', isDisabled = false) =>
  html`<button
    class=${`button ${kind}`}
    type="button"
    ?disabled=${isDisabled}
    @click=${(e) => attempt(e, act)}
  >
    ${label}
  </button>`;

/** The buttons whose actions are under way. @type {WeakSet<Element>} */
const busy = new WeakSet();

/**
 * Does what a button is for, once at a time, and reports a failure.
 * @param {Event} event
 * @param {(event: Event) => unknown} act
 */
async function attempt(event, act) {
  const element = /** @type {Element} */ (event.currentTarget);
  if (busy.has(element)) return;
  busy.add(element);
  try {
    await act(event);
  } catch (error) {
    failed(error);
  } finally {
    busy.delete(element);
  }
}

/** A status: shape, word and colour. @param {string} value @param {unknown} [text] */
export const status = (value, text) =>
  html`<span class=${`status ${tone(value)}`}>${text || words(value.toLowerCase())}</span>`;

/** @param {string} value */
function tone(value) {
  if (/^(active|sent|completed|won|ready|hot|replied|delivered|succeeded|enabled)$/i.test(value))
    return 'good';
  if (/^(failed|bounced|stopped|lost|disabled|unknown|cancelled)$/i.test(value)) return 'bad';
  if (/^(held|paused|warm|queued|waiting|pending|captured|preparing|no_show)$/i.test(value))
    return 'warn';
  return 'open';
}

/** A short table. @param {string[]} heads @param {unknown[][]} rows */
export const table = (heads, rows) =>
  html`<div class="table plain">
    <table>
      <thead>
        <tr>
          ${heads.map(
            (head) =>
              html`<th scope="col">
                ${head || html`<span class="visually-hidden">Actions</span>`}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell, i) => html`<td dir="auto" data-label=${heads[i]}>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

/**
 * The top of a page: where it belongs, its name, a line about it, and what can be done by whom.
 * @param {{
 *   up?: [string, string],
 *   title: unknown,
 *   note?: unknown,
 *   actions?: unknown,
 *   needs?: Parameters<typeof may>[0],
 * }} o
 */
export function heading({ up, title, note, actions, needs }) {
  const isAllowed = !needs || may(needs);
  return html`<header class="heading">
    <div class="grow">
      ${up && html`<a class="small" href=${link(up[0])}>‹ ${up[1]}</a>`}
      <h1 tabindex="-1" dir="auto">${title}</h1>
      ${note && html`<p class="soft" dir="auto">${note}</p>`}${
        !isAllowed &&
        html`<p class="soft">
          Your access lets you read this but not change it. Ask an admin for more.
        </p>`
      }
    </div>
    <div class="buttons">${isAllowed && actions}</div>
  </header>`;
}

/** @param {unknown} text */
export const soft = (text) => html`<span class="soft">${text}</span>`;

/** @param {unknown} text @param {unknown} [action] */
export const empty = (text, action) =>
  html`<div class="empty">
    <p>${text}</p>
    ${action}
  </div>`;

/**
 * @param {unknown} title
 * @param {unknown} content
 * @param {unknown} [aside]
 */
export const section = (title, content, aside) =>
  html`<section class="section">
    <header>
      <h2>${title}</h2>
      ${aside}
    </header>
    ${content}
  </section>`;

/** @param {[unknown, unknown][]} rows */
export const pairs = (rows) =>
  html`<dl class="pairs">
    ${rows.map(
      ([label, value]) =>
        html`<dt>${label}</dt>
          <dd class="wrap" dir="auto">${value}</dd>`,
    )}
  </dl>`;

/**
 * What is seen of a record beside its list.
 * @param {string} title
 * @param {unknown} actions
 * @param {() => void} close
 * @param {unknown} content
 */
export const beside = (title, actions, close, content) =>
  html`<aside class="peek" aria-label=${title}>
    <header class="heading">
      <h2 class="grow wrap" dir="auto">${title}</h2>
      ${actions}${button('Close', close)}
    </header>
    ${content}
  </aside>`;

/**
 * Links of which one is the page that is shown.
 * @param {[unknown, string, boolean][]} links text, address and whether it is this page
 */
export const tabs = (links) =>
  html`<div class="tabs">
    ${links.map(
      ([text, to, isNow]) =>
        html`<a href=${link(to)} aria-current=${isNow ? 'page' : null}>${text}</a>`,
    )}
  </div>`;

/**
 * A button that opens a menu.
 * @param {string} label
 * @param {unknown} items
 * @param {() => unknown} [opened]
 */
export const menu = (label, items, opened) =>
  html`<details
    class="menu"
    @toggle=${(e) => e.currentTarget.open && opened?.()}
    @focusout=${(e) => {
      if (e.relatedTarget && !e.currentTarget.contains(e.relatedTarget))
        e.currentTarget.open = false;
    }}
    @keydown=${(e) => {
      if (e.key === 'Escape') e.currentTarget.open = false;
    }}
  >
    <summary class="button">${label}</summary>
    <div class="popover end">${items}</div>
  </details>`;

/**
 * What can be done with the rows of a table that are selected, or with all that match.
 * @param {{table: {selected: Set<string>, total: number}, isEverything?: boolean}} model
 * @param {(n: number) => unknown} actions
 * @param {boolean} [canTakeAll]
 */
export function selected(model, actions, canTakeAll) {
  const {
    table: { selected: rows, total },
    isEverything,
  } = model;
  const n = isEverything ? total : rows.size;
  return (
    n > 0 &&
    html`<div class="notice selection" role="region" aria-label="Selection">
      <strong>${number(n)} selected</strong> ${
        canTakeAll &&
        n < total &&
        button(
          `Select all ${number(total)} matching`,
          () => {
            model.isEverything = true;
            update();
          },
          'plain',
        )
      }<span class="buttons">${actions(n)}</span>
    </div>`
  );
}

/** What becomes of records that are deleted. */
export const inTrash = (n = 1) =>
  plural(
    n,
    'You can restore it from the trash. Other records lose their references to it.',
    'You can restore them from the trash. Other records lose their references to them.',
  );

/** @param {string | number | null | undefined} value */
export const when = (value) => (value ? dateTime(value) : '—');

/**
 * Saves what the service answers as a file.
 * @param {string} path
 * @param {string} name
 * @param {unknown} [body] what to post
 */
export async function download(path, name, body) {
  const answer = await fetch(path, {
    method: body ? 'POST' : 'GET',
    headers: { ...(body ? { 'Content-Type': 'application/json' } : {}), ...hooks.headers },
    body: body ? JSON.stringify(body) : undefined,
  });
  if (!answer.ok) throw new Error('The download failed.');
  const url = URL.createObjectURL(await answer.blob());
  const anchor = document.createElement('a');
  Object.assign(anchor, { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** @param {string} text */
export async function copy(text) {
  await navigator.clipboard.writeText(text);
  toast('Copied');
}

// Short messages at the bottom of the page, with an undo where there is one.
const shownFor = 8000;
/**
 * @typedef {{
 *   id: number,
 *   message: string,
 *   bad: boolean,
 *   undo?: () => void,
 *   left: number,
 *   since: number,
 *   timer?: ReturnType<typeof setTimeout>,
 * }} Toast
 */
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

/** Reports an error, or that somebody decided otherwise. @param {unknown} error */
export const failed = (error) =>
  toast(messageOf(error), { bad: !(error instanceof ApiError) || error.code !== 'declined' });

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
  render(
    keyed(
      toasts,
      (entry) => entry.id,
      (entry) =>
        html` <div
          class=${entry.bad ? 'toast bad' : 'toast'}
          @mouseenter=${() => pause(entry)}
          @mouseleave=${() => resume(entry)}
          @focusin=${() => pause(entry)}
          @focusout=${() => resume(entry)}
        >
          <span class="wrap">${entry.message}</span>
          ${
            entry.undo &&
            html`<button
              type="button"
              @click=${() => {
                close(entry);
                entry.undo?.();
              }}
            >
              Undo
            </button>`
          }
          <button type="button" aria-label="Close" @click=${() => close(entry)}>×</button>
        </div>`,
    ),
    place,
  );
}
