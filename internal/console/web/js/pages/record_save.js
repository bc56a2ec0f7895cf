// @ts-check
// Changing one field of a record, and the question when somebody else has changed it.
import { ApiError, getPage, inWords, patch, request } from '../api.js';
import { confirm, FormState, open } from '../components/dialog.js';
import { knownName, nameOf, resolveAll } from '../components/field.js';
import { guessReference } from '../components/filter.js';
import { button, failed, toast } from '../components/parts.js';
import { html } from '../dom.js';
import { toInput } from '../format.js';
import { reload } from '../router.js';
import { update } from '../state.js';
import { valueAt } from './entities.js';
import { display, isTexts, isTime, textsOf } from './record_values.js';

/** @typedef {import('./record.js').AnyRecord} AnyRecord */
/** @typedef {import('./record.js').Model} Model */

/**
 * @param {Model} model
 * @param {string} key
 * @param {unknown} value
 */
export function edit(model, key, value) {
  model.editing = key;
  model.state = new FormState({
    [key]: isTime(model, key)
      ? toInput(String(value || ''))
      : isTexts(key)
        ? textsOf(value).join(', ')
        : value,
  });
  model.state.draw = update;
  update();
  setTimeout(
    () => /** @type {HTMLElement | null} */ (document.getElementById('inline'))?.focus(),
    50,
  );
}

/**
 * Saves one field, after a question where people would be written to again.
 * @param {Model} model
 * @param {string} key
 * @param {unknown} value
 */
export async function save(model, key, value) {
  if (model.isSaving) return;
  if (
    key === 'do_not_contact' &&
    String(value) === 'false' &&
    !(await confirm({
      title: `Allow messages to ${nameOf(model.record)} again?`,
      text:
        'Running campaigns that have not begun with this person begin at once. Where they ' +
        'have stopped, Restart people… of the campaign continues.',
      action: 'Allow messages',
      danger: true,
    }))
  )
    return reload();
  return write(model, key, value);
}

/**
 * The change of one field, whose key may be a path.
 * @param {Item} record
 * @param {string} key
 * @param {unknown} value
 */
function changeOf(record, key, value) {
  const [first, second] = key.split('.');
  if (!second) return { [key]: value };
  return { [first]: { .../** @type {object} */ (record[first]), [second]: value } };
}

/**
 * Saves one field, if nobody has changed it meanwhile.
 * @param {Model} model
 * @param {string} key
 * @param {unknown} value
 */
async function write(model, key, value) {
  const before = valueAt(model.record, key);
  const f = model.schema.fields.find((other) => other.key === key);
  const sent = f?.type === 'boolean' ? value === true || value === 'true' : (value ?? null);
  model.isSaving = true;
  try {
    await patch(model.path, changeOf(model.record, key, sent), { match: model.etag ?? undefined });
    model.editing = '';
    toast(`${f?.label || key} saved`, {
      undo: async () => {
        await patch(model.path, changeOf(model.record, key, before ?? null));
        await reload();
      },
    });
    await reload();
  } catch (error) {
    if (f && error instanceof ApiError && error.status === 412) return conflict(model, f, sent);
    if (error instanceof ApiError && error.details.length)
      model.state.errors[key] = inWords(error.details[0].message);
    else failed(error);
    update();
  } finally {
    model.isSaving = false;
  }
}

/**
 * Somebody else changed the record: asks which value stays, if the field is the same.
 * @param {Model} model
 * @param {Field} f
 * @param {unknown} mine
 */
async function conflict(model, f, mine) {
  model.isSaving = false;
  model.editing = ''; // so that the dialog, which takes the focus, does not save it again
  const [answer, history] = await Promise.all([
    request('GET', model.path),
    getPage(`${model.path}/history?page_size=50`),
  ]);
  /** @type {AnyRecord} */
  const data = answer.body.data;
  const [before, theirs] = [model.record, data].map((record) => valueAt(record, f.key) ?? null);
  const isEqual = (/** @type {unknown} */ a, /** @type {unknown} */ b) =>
    JSON.stringify(a) === JSON.stringify(b);
  if (isEqual(theirs, mine)) return reload();
  if (!isEqual(theirs, before)) {
    const last = history.data.find((c) => c.fields?.includes(f.key.split('.')[0]));
    if (f.type === 'reference')
      await resolveAll(
        f.reference || guessReference(f.key),
        /** @type {(string | null)[]} */ ([mine, theirs].flat()),
      );
    if (last) await resolveAll('users', [last.user_id]);
    const who = knownName(last?.user_id) || 'Somebody else';
    const shown = (/** @type {unknown} */ v) =>
      (f.key === 'tags' ? tagNames(model, textsOf(v)) : display(f, v)) || '—';
    const choice = await open(
      (close) =>
        html`<div class="panel">
          <h2>${who} has changed the same field</h2>
          <dl class="pairs">
            <dt>${f.label}, yours</dt>
            <dd class="wrap" dir="auto">${shown(mine)}</dd>
            <dt>${f.label}, by ${who}</dt>
            <dd class="wrap" dir="auto">${shown(theirs)}</dd>
          </dl>
          <div class="buttons">
            ${button('Take theirs', () => close('theirs'))}<button
              class="button primary"
              type="button"
              autofocus
              @click=${() => close('mine')}
            >
              Keep mine
            </button>
          </div>
        </div>`,
      'narrow',
    );
    if (choice === 'theirs') return reload();
    if (!choice) return edit(model, f.key, mine);
  }
  Object.assign(model, { record: data, etag: answer.headers.get('ETag') });
  await write(model, f.key, mine);
}

/** @param {Model} model @param {string[]} ids */
const tagNames = (model, ids) =>
  ids.map((id) => model.tags.find((tag) => tag.id === id)?.name).join(', ');
