// @ts-check
// What happens in the settings after a question, or at once.
import { confirm, open } from '../components/dialog.js';
import { button, copy, failed } from '../components/parts.js';
import { html } from '../dom.js';
import { reload } from '../router.js';
import { deleteUsed } from '../uses.js';
import { deleted } from './undo.js';

/**
 * Asks, then does something and shows the list again.
 * @param {string} title
 * @param {string} action
 * @param {() => Promise<unknown>} act
 */
export const asked = (title, action, act) => async () => {
  if (await confirm({ title, action, danger: true })) {
    await act().catch(failed);
    await reload();
  }
};

/**
 * Asks with what hangs on a record, then deletes it and shows the list again.
 * @param {Parameters<typeof deleteUsed>[0]} question
 */
export const askedUsed = (question) => async () => {
  if (await deleteUsed(question)) await reload();
};

/**
 * As askedUsed for a tag or a field, which can be restored.
 * @param {string} name
 * @param {Parameters<typeof deleteUsed>[0]} question
 */
export const deletion = (name, question) => async () => {
  if (
    !(await deleteUsed({
      ...question,
      text: 'You can restore it from the trash for 30 days, and records get it back.',
    }))
  )
    return;
  deleted(name, question.path);
  await reload();
};

/** @type {ReturnType<typeof setTimeout> | undefined} */
let soon;

/** Shows the page again when what was sent has probably arrived. */
export const later = () => {
  clearTimeout(soon);
  soon = setTimeout(() => void reload(), 1500);
};

/** Leaves the page as it is. */
export const notLater = () => clearTimeout(soon);

/** Does something at once and shows the page again. @param {() => Promise<unknown>} act */
export const done = (act) => async () => {
  await act().catch(failed);
  await reload();
};

/**
 * Shows a text once, to be copied.
 * @param {string} title
 * @param {string} text
 * @param {string} note
 */
export const showOnce = (title, text, note) =>
  open(
    (close) =>
      html`<div class="panel">
        <h2>${title}</h2>
        <p class="soft">${note}</p>
        <pre class="notice">${text}</pre>
        <div class="buttons">
          ${button('Copy', () => copy(text))}${button('Done', () => close(null), 'primary')}
        </div>
      </div>`,
  );
