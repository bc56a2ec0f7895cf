// @ts-check
// Signing in, and the page that a one-time link opens.
import { ApiError, post } from '../api.js';
import { FormState, formView } from '../components/dialog.js';
import { field } from '../components/field.js';
import { html, render } from '../dom.js';

/**
 * @param {HTMLElement} app
 * @param {(state: FormState) => unknown} fields
 * @param {(state: FormState) => Promise<unknown>} submit
 * @param {() => void} done
 */
export function showSignIn(app, fields, submit, done) {
  page(app, {
    title: 'Sign in to Prospector',
    action: 'Sign in',
    fields,
    submit,
    done,
    note: 'Forgotten your password? Ask an admin of your organization for a new link.',
  });
}

/**
 * @param {HTMLElement} app
 * @param {{
 *   title: string,
 *   action: string,
 *   fields: (state: FormState) => unknown,
 *   submit: (state: FormState) => Promise<unknown>,
 *   done: () => void,
 *   note: string,
 * }} options
 */
function page(app, { title, action, fields, submit, done, note }) {
  const state = new FormState({});
  state.draw = () =>
    render(
      html`<main class="signin">
        <div>
          <h1>${title}</h1>
          ${formView(state, { action, className: 'form', body: fields, submit }, done)}
          <p class="soft small">${note}</p>
        </div>
      </main>`,
      app,
    );
  state.draw();
  /** @type {HTMLElement | null} */ (app.querySelector('input'))?.focus();
}

/**
 * The page of a one-time link: a password may be set.
 * @param {HTMLElement} app
 * @returns {Promise<void>}
 */
export function welcome(app) {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') || '';
  return new Promise((resolve) => {
    page(app, {
      title: 'Welcome to Prospector',
      action: 'Continue',
      done: () => resolve(),
      note: 'This link works once. Without a password you need another link to sign in again.',
      fields: (state) =>
        field(state, {
          name: 'password',
          label: 'Choose a password',
          type: 'password',
          autocomplete: 'new-password',
          help: 'At least 10 characters, such as four unrelated words.',
        }),
      submit: async ({ values }) => {
        if (!token)
          throw new ApiError(
            422,
            'validation_failed',
            'This link is incomplete. Open the whole link, or ask an admin for a new one.',
          );
        return post(
          '/v1/sessions/redeem',
          { token, ...(values.password ? { password: values.password } : {}) },
          { quiet: true },
        );
      },
    });
  });
}
