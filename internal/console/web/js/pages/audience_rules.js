// @ts-check
// Who is in a dynamic audience, and a change of that, which waits until it is saved.
import { list, patch, schemaOf, tags } from '../api.js';
import { confirm } from '../components/dialog.js';
import { nameOf } from '../components/field.js';
import { filterBar, sentence } from '../components/filter.js';
import { button, failed } from '../components/parts.js';
import { html } from '../dom.js';
import { body, encode, partsOf, selection, whereOf } from '../query.js';
import { link, reload } from '../router.js';
import { may, update } from '../state.js';
import { number } from '../text.js';
import { withTags } from './entities.js';

/** @typedef {import('./audience.js').Model} Model */

/**
 * The text and the filters that say who is in a dynamic audience.
 * @typedef {Pick<View, 'q' | 'rules' | 'where'>} Rules
 */

/** The fields of contacts, with the names of tags. */
export const contactFields = async () => withTags(await schemaOf('contacts'), await tags()).fields;

/** How many contacts match a view. @param {Partial<View>} view @returns {Promise<number>} */
export const total = async (view) =>
  (await list('/v1/contacts/list', body(view, 1, 1))).pagination.total_count;

/** The filters of a view as the API takes them. @param {Partial<View>} view */
export const filtersOf = (view) => selection(view).filters || [];

/**
 * Who is in a dynamic audience. Changes wait until they are saved, because campaigns act on them at
 * once.
 * @param {Model} model
 */
export function rulesOf(model) {
  const { audience: a, fields, draft } = model;
  const saved = { q: a.search || '', ...partsOf(a.filters) };
  const view = draft || saved;
  const change = async (/** @type {Partial<Rules>} */ part) => {
    const next = { ...view, ...part };
    Object.assign(model, { draft: next, counts: null, isDirty: true });
    update();
    const joined = {
      q: saved.q, // a search can only be removed
      rules: [...saved.rules, ...next.rules],
      where: whereOf([saved.where, next.where].filter((where) => where !== null)),
    };
    const [now, then, both] = await Promise.all([saved, next, joined].map(total));
    if (model.draft === next)
      model.counts = {
        now,
        then,
        come: then - both,
        leave: now - both,
      };
    update();
  };
  return html`<section class="section">
    <p>
      Whoever matches is in this audience, at any moment. Running campaigns write to those who come
      in.
    </p>
    <div class="toolbar">
      ${
        may('write')
          ? html`${
              view.q &&
              html`<span class="chip on"
                >“${view.q}”
                <button
                  type="button"
                  aria-label=${`Remove: ${view.q}`}
                  @click=${() => change({ q: '' }).catch(failed)}
                >
                  ×
                </button></span
              >`
            }
            ${filterBar({
              entity: 'contacts',
              view: () => view,
              fields,
              onChange: (rules, where) => void change({ rules, where }).catch(failed),
            })}`
          : [view.q, ...filtersOf(view).map((rule) => sentence(rule, fields))]
              .filter(Boolean)
              .join(' · ')
      }
    </div>
    ${draft && unsaved(model, draft)}
  </section>`;
}

/** What a change of the filters does, which is not saved. @param {Model} model @param {Rules} draft */
function unsaved(model, draft) {
  const { counts } = model;
  return html`<div class="notice warn">
    <p role="status">
      ${
        counts
          ? `Not saved. ${number(counts.now)} match now, ${number(counts.then)} with your ` +
            `change: ${number(counts.come)} come in, ${number(counts.leave)} leave.`
          : 'Counting…'
      }
      <a href=${link(`/contacts${encode(draft)}`)} target="_blank">Show them</a>
    </p>
    <p class="buttons">
      ${counts && button('Save', () => saveRules(model, draft, counts), 'primary')}${button(
        'Discard',
        () => {
          drop(model);
          update();
        },
      )}
    </p>
  </div>`;
}

/** Forgets changes of the filters. @param {Model} model */
export const drop = (model) => Object.assign(model, { draft: null, isDirty: false });

/**
 * Saves the filters, after a question if campaigns act on them.
 * @param {Model} model
 * @param {Rules} draft
 * @param {{come: number, leave: number}} counts
 */
async function saveRules(model, draft, counts) {
  const { path, audience } = model;
  const names = model.campaigns
    .filter((c) => /^(active|paused)$/.test(c.status))
    .map(nameOf)
    .join(', ');
  if (
    names &&
    !(await confirm({
      title: `Change who is in ${audience.name}?`,
      danger: true,
      action: `Save: ${number(counts.come)} come in, ${number(counts.leave)} leave`,
      text:
        'These campaigns write to those who come in, and stop for those who leave: ' +
        `${names}. Whoever is stopped does not go on after coming back.`,
    }))
  )
    return;
  await patch(path, { filters: filtersOf(draft), search: draft.q });
  drop(model);
  await reload();
}
