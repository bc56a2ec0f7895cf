// @ts-check
// What hangs on a record: shown before it is deleted, and what becomes of dynamic audiences that
// depend on it.
import { ApiError, get, hooks, remove } from './api.js';
import { confirm, form } from './components/dialog.js';
import { html } from './dom.js';
import { words } from './format.js';
import { entities } from './pages/entities.js';
import { number, plural } from './text.js';

/**
 * How records refer to another one, where what they are does not say it.
 * @type {Record<string, string>}
 */
const roles = {
  filters: ', by filters',
  filtering_rules: ', by filters or columns',
  owner_id: ', as owner',
  'campaigns owner_id': ', as sender',
};

/** What refers to a record, in words with names. @param {API['Use']} use */
function useOf({ entity, field, count, records }) {
  const kind = Object.values(entities).find((other) => other.entity === entity);
  const title = (kind?.title || words(entity.replaceAll('-', ' '))).toLowerCase();
  const what = plural(count, '{n} {one}', '{n} {title}', {
    one: kind?.one || title.replace(/s$/, ''),
    title,
  });
  const names = records
    .map((r) => r.name)
    .filter(Boolean)
    .join(', ');
  const rest = count - records.length;
  return html`<li>
    <span class="wrap"
      ><strong>${what}</strong>${roles[`${entity} ${field}`] || roles[field]}<br /><span
        class="soft"
        dir="auto"
        >${rest > 0 ? `${names} and ${number(rest)} more` : names}</span
      ></span
    >
  </li>`;
}

/**
 * Asks before a record is deleted and says what hangs on it. What refuses the deletion is shown in
 * the dialog.
 * @param {{
 *   path: string,
 *   title: string,
 *   text?: unknown,
 *   action: string,
 *   act?: () => Promise<unknown>,
 * }} question act is another end than the deletion
 * @returns {Promise<boolean>}
 */
export async function deleteUsed({ path, title, text, action, act = () => remove(path) }) {
  const { uses } = await get(`${path}/uses`);
  const done = await form({
    title,
    action,
    danger: true,
    className: uses.length > 0 ? '' : 'narrow',
    body: () =>
      html`${text && html`<p>${text}</p>`}
      ${
        uses.length > 0 &&
        html`<section>
          <h3>What hangs on it</h3>
          <ul class="list">
            ${uses.map(useOf)}
          </ul>
        </section>`
      }`,
    submit: async () => {
      try {
        await act();
        return true;
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'in_use') throw error;
        throw new ApiError(error.status, error.code, sentence(error.message));
      }
    },
  });
  return Boolean(done);
}

/**
 * Asks whether dynamic audiences may become static, and fails if not.
 * @param {Detail[]} details the audiences that a change concerns
 */
async function askForce(details) {
  const n = details.length;
  const isSure = await confirm({
    title: plural(n, 'A dynamic audience depends on it', '{n} dynamic audiences depend on it'),
    text: html`<span
        >${plural(
          n,
          'This dynamic audience becomes static with the contacts it has now:',
          'These dynamic audiences become static with the contacts they have now:',
        )}</span
      >
      <ul class="list">
        ${details.map(
          ({ message }) => html`<li><span class="wrap" dir="auto">${sentence(message)}</span></li>`,
        )}
      </ul>
      <span class="soft">From then on, nobody comes in or leaves by a filter.</span>`,
    action: plural(n, 'Make it static and go on', 'Make them static and go on'),
    danger: true,
  });
  if (!isSure) throw new ApiError(409, 'declined', 'Nothing was changed.');
}

/** A message of the API as a sentence, without the field before it. @param {string} message */
export function sentence(message) {
  const text = message.replace(/^\w[\w ]*: /, '');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** From now on asks about dynamic audiences. */
export function watchUses() {
  hooks.force = askForce;
}
