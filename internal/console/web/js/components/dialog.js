// @ts-check
// Dialogs are native. The button of a question names what it does.
import { ApiError, inWords } from '../api.js';
import { html, render } from '../dom.js';
import { number } from '../text.js';

/**
 * Opens a dialog. view gets a function that closes it with a result, and one that draws it again.
 * @template T
 * @param {(close: (result: T | null) => void, draw: () => void) => unknown} view
 * @param {string} [className]
 * @returns {Promise<T | null>} null if the dialog was dismissed
 */
export function open(view, className = '') {
  const dialog = document.createElement('dialog');
  dialog.className = className;
  document.body.append(dialog);
  const opener = document.activeElement;
  return new Promise((resolve) => {
    /** @type {T | null} */
    let result = null;
    const close = (/** @type {T | null} */ value) => {
      result = value;
      dialog.close();
    };
    const draw = () => {
      render(view(close, draw), dialog);
      label(dialog);
    };
    dialog.addEventListener('close', () => {
      dialog.remove();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
      resolve(result);
    });
    dialog.addEventListener('click', (event) => {
      if (event.target === dialog) dialog.close();
    });
    draw();
    dialog.showModal();
  });
}

/** Names the dialog after its heading. @param {HTMLDialogElement} dialog */
function label(dialog) {
  const heading = dialog.querySelector('h2');
  if (heading) {
    heading.id ||= 'dialog-title';
    dialog.setAttribute('aria-labelledby', heading.id);
  }
}

/** From how many destructive changes on the count must be typed. */
const typedFrom = 1000;

/**
 * Asks before something that cannot be undone.
 * @param {{
 *   title?: string,
 *   text?: unknown,
 *   action: string,
 *   danger?: boolean,
 *   count?: number,
 * }} question
 * @returns {Promise<boolean>}
 */
export async function confirm({ action, title = `${action}?`, text, danger, count = 0 }) {
  const mustType = danger && count > typedFrom;
  return Boolean(
    await form({
      title,
      action,
      danger,
      className: 'narrow',
      submit: async () => true,
      isReady: ({ values }) =>
        !mustType || values.typed?.replaceAll(/[,. ]/g, '') === String(count),
      body: (state) =>
        html`${text && html`<p>${text}</p>`}${
          mustType &&
          html`<div class="field">
            <label for="typed">Type ${number(count)} to confirm</label>
            <input
              id="typed"
              inputmode="numeric"
              autocomplete="off"
              @input=${(e) => state.set('typed', e.target.value)}
            />
          </div>`
        }`,
    }),
  );
}

/**
 * A form. submit does the work; an error that names fields is shown beside them, others above the
 * buttons.
 * @template T
 * @typedef {{
 *   title?: string,
 *   action: string,
 *   danger?: boolean,
 *   className?: string,
 *   body: (form: FormState) => unknown,
 *   isReady?: (form: FormState) => boolean,
 *   submit: (form: FormState) => Promise<T>,
 * }} FormOptions
 */

/**
 * Shows a form. done gets what submit returns.
 * @template T
 * @param {FormState} state
 * @param {FormOptions<T>} options
 * @param {(result: T) => void} done
 * @param {() => void} [cancel]
 */
export const formView = (
  state,
  { title, action, danger, className, body, isReady, submit },
  done,
  cancel,
) =>
  html`<form
    class=${className}
    novalidate
    @submit=${async (event) => {
      event.preventDefault();
      if (state.busy) return;
      state.begin();
      try {
        done(await submit(state));
      } catch (error) {
        state.fail(error, /** @type {HTMLElement} */ (event.target));
      }
    }}
  >
    ${title && html`<h2>${title}</h2>`} ${body(state)}
    ${state.problem && html`<p class="notice bad" role="alert">${state.problem}</p>`}
    <div class="buttons">
      ${cancel && html`<button class="button" type="button" @click=${cancel}>Cancel</button>`}
      <button
        class=${danger ? 'button primary danger' : 'button primary'}
        ?disabled=${state.busy || isReady?.(state) === false}
      >
        ${action}
      </button>
    </div>
  </form>`;

/**
 * A form in a dialog.
 * @template T
 * @param {FormOptions<T>} options className is that of the dialog
 * @param {Values} [values]
 * @returns {Promise<T | null>}
 */
export function form({ className, ...options }, values = {}) {
  const state = new FormState(values);
  return open((close, draw) => {
    state.draw = draw;
    return formView(state, options, close, () => close(null));
  }, className);
}

/** The values and the problems of a form. */
export class FormState {
  /** @param {Values} values */
  constructor(values) {
    this.values = { ...values };
    this.key = crypto.randomUUID(); // a double click creates one record
    this.busy = false;
    this.problem = '';
    /** @type {Record<string, string>} */
    this.errors = {};
    this.draw = () => {};
  }

  /** @param {string} name @param {unknown} value */
  set(name, value) {
    this.values[name] = value;
    delete this.errors[name];
    this.draw();
  }

  begin() {
    this.busy = true;
    this.problem = '';
    this.errors = {};
    this.draw();
  }

  /** @param {unknown} error @param {HTMLElement} [within] */
  fail(error, within) {
    this.busy = false;
    const details = error instanceof ApiError ? error.details : [];
    /** @param {string} name */
    const shown = (name) => within?.querySelector(`[data-field="${CSS.escape(name)}"]`);
    /** The field of the form that a path means: `ai.question` itself, or the `address` of `address.city`.
     * @param {string} path */
    const field = (path) => (shown(path) ? path : path.split(/[.[]/)[0]);
    for (const { path, message } of details)
      this.errors[field(path)] ??=
        field(path) === path ? inWords(message) : inWords(`${path}: ${message}`);
    const known = details.filter(({ path }) => shown(field(path)));
    if (known.length < Math.max(1, details.length))
      this.problem = error instanceof Error ? error.message : String(error);
    if (!(error instanceof ApiError)) console.error(error);
    if (error instanceof ApiError && error.status !== 0) this.key = crypto.randomUUID();
    this.draw();
    requestAnimationFrame(() =>
      /** @type {HTMLElement | null} */ (within?.querySelector('[aria-invalid="true"]'))?.focus(),
    );
  }
}
