// @ts-check
// Settings, erasure: erasing a person, after a look at what goes and what stays.
import { get, is, list, newKey, post } from '../api.js';
import { form, open } from '../components/dialog.js';
import { field } from '../components/field.js';
import { button, empty, failed, section, table, when } from '../components/parts.js';
import { html } from '../dom.js';
import { words } from '../format.js';
import { link } from '../router.js';
import { number } from '../text.js';
import { entities } from './entities.js';
import { followOperation } from './undo.js';

/** @param {AbortSignal} signal */
export const loadErasures = async (signal) =>
  (
    await list(
      '/v1/operations/list',
      { filters: [is('kind', 'erasure'), is('dry_run', false)], page_size: 100 },
      { signal },
    )
  ).data;

/** @param {Operation[]} operations */
export const erasureView = (operations) =>
  html`<p class="soft">
      Whoever asks you to be forgotten is erased everywhere but in backups. A hash of each address
      stays, so that nobody adds it again.
    </p>
    ${
      operations.length === 0
        ? empty('Nobody was erased in the last 30 days.')
        : table(
            ['When', 'Reason', 'Result'],
            operations.map((o) => [
              when(o.created_at),
              o.reason,
              html`<a href=${link(`/operations/${o.id}`)}>Open</a>`,
            ]),
          )
    }`;

/**
 * What an erasure has removed, or would remove, and what it leaves.
 * @param {Operation} o
 * @param {() => void} [leave]
 */
export const erasedOf = ({ erased, left, left_omitted }, leave) =>
  html`${
    erased.length > 0 &&
    section(
      'Erased',
      table(
        ['What', 'Records'],
        erased.map((e) => [words(e.kind), number(e.count)]),
      ),
    )
  }
  ${
    left.length > 0 &&
    section(
      'What stays',
      html`${table(
        ['Record', 'Field', 'Why'],
        left.map((l) => [
          entities[l.kind]
            ? html`<a href=${link(`${entities[l.kind].path}/${l.id}`)} @click=${leave}
                >${words(l.kind)}</a
              >`
            : words(l.kind),
          words(l.field),
          l.why,
        ]),
      )}
      ${left_omitted > 0 && html`<p>and ${number(left_omitted)} more</p>`}`,
    )
  }`;

/**
 * Asks for an address, shows what an erasure would do, and erases when the address is typed again.
 */
export async function askErasure() {
  /** @type {{values: Values, trial: Operation} | null} */
  const looked = await form({
    title: 'Erase a person',
    action: 'Show what would be erased',
    body: (state) =>
      html`${field(state, {
        name: 'email',
        type: 'email',
        required: true,
        help: 'any address of the person',
      })}
      ${field(state, {
        name: 'reason',
        required: true,
        help: 'such as the number of the request',
      })}`,
    submit: async ({ values }) => ({ values, trial: await tryErasure(values) }),
  });
  if (!looked) return;
  const {
    values: { email, reason },
    trial,
  } = looked;
  if (trial.status !== 'completed') return void refused(trial);
  const made = await form({
    title: `Erase ${email}?`,
    action: 'Erase for ever',
    danger: true,
    isReady: ({ values }) => values.typed === email,
    body: (state) =>
      html`<p>This cannot be undone.</p>
        ${erasedOf(trial)}
        <div class="field">
          <label for="typed">Type ${email} to confirm</label>
          <input
            id="typed"
            autocomplete="off"
            @input=${(e) => state.set('typed', e.target.value)}
          />
        </div>`,
    submit: ({ key }) => post('/v1/erasures', { email, reason }, { key }),
  });
  if (made)
    followOperation(made.id, {
      href: '/settings/erasure',
      label: 'Erasing a person',
      done: (o) =>
        o.status === 'completed' ? 'The person was erased' : 'The person was not erased',
    });
}

/**
 * Counts what an erasure would remove.
 * @param {Values} values
 * @returns {Promise<Operation>}
 */
async function tryErasure({ email, reason }) {
  let trial = await post('/v1/erasures', { email, reason, dry_run: true }, { key: newKey() });
  while (trial.status === 'running') {
    await new Promise((resolve) => setTimeout(resolve, 300));
    trial = await get(`/v1/operations/${trial.id}`);
  }
  return trial;
}

/** Says why nobody can be erased. @param {Operation} trial */
const refused = ({ problems }) =>
  open(
    (close) =>
      html`<div class="panel">
        <h2>Nothing to erase</h2>
        ${problems.map((p) => html`<p>${p.message}</p>`)}
        <div class="buttons">${button('Close', () => close(null))}</div>
      </div>`,
  ).catch(failed);
