// @ts-check
// The groups of records that may be the same.
import { newKey, post } from '../api.js';
import { confirm } from '../components/dialog.js';
import { nameOf } from '../components/field.js';
import { button, empty, heading, soft, table as rowsOf, tabs, toast } from '../components/parts.js';
import { html } from '../dom.js';
import { words } from '../format.js';
import { encode } from '../query.js';
import { link, reload } from '../router.js';
import { may } from '../state.js';
import { plural } from '../text.js';
import { entities, namesOf } from './entities.js';
import { idsOf } from './merge.js';
import { followOperation } from './undo.js';

const percent = (/** @type {number} */ score) => `${Math.round(score * 100)}%`;

/**
 * Records that may be the same.
 * @typedef {API['DuplicateGroupContact'] | API['DuplicateGroupAccount']} SameRecords
 */

/**
 * What the list of groups knows: those from after on whose score is at least min.
 * @typedef {{
 *   kind: Entity,
 *   after: string | null,
 *   min: number,
 *   groups: SameRecords[],
 *   total: number,
 *   next: string | null,
 * }} Groups
 */

/**
 * @param {Entity} kind
 * @param {URLSearchParams} search
 * @param {AbortSignal} signal
 * @returns {Promise<Groups>}
 */
export async function readGroups(kind, search, signal) {
  const after = search.get('after');
  const min = Number(search.get('min')) || 0.8;
  const query = { min_score: min, ...(after ? { next: after } : {}) };
  return { kind, after, min, ...(await post(`/v1/${kind.entity}/duplicates`, query, { signal })) };
}

/** @param {Groups} model */
export const groupsHeading = (model) =>
  heading({
    up: [model.kind.path, model.kind.title],
    title: 'Duplicates',
    note: plural(model.total, '{n} group that may be the same', '{n} groups that may be the same'),
    needs: 'write',
    actions: model.total > 0 && button('Merge all from 90%…', () => mergeAll(model), 'primary'),
  });

/** The links and rows of the groups. @param {Groups} model */
export function shown({ kind, groups, min, next, after }) {
  const at = (/** @type {Record<string, string>} */ query) =>
    link(`${kind.path}/duplicates${encode({}, query)}`);
  /** @type {[number, string][]} */
  const choices = [
    [0.9, 'Almost certain'],
    [0.8, 'Likely'],
    [0.6, 'Possible'],
  ];
  return html`${tabs(
      ['contacts', 'accounts'].map((name) => [
        entities[name].title,
        `/${name}/duplicates`,
        name === kind.entity,
      ]),
    )}
    <p class="buttons">
      ${choices.map(
        ([score, label]) =>
          html`<a class="button" aria-current=${score === min} href=${at({ min: String(score) })}
            >${label}</a
          >`,
      )}
    </p>
    ${
      groups.length
        ? rowsOf(
            ['Certainty', kind.title, 'Because', ''],
            groups.map((g) => [
              percent(g.score ?? 0),
              html`<a
                  href=${at({
                    ids: idsOf(g.records.slice(0, 10)).join(),
                    found: '1',
                  })}
                  >${[...new Set(g.records.slice(0, 4).map((r) => nameOf(r)))].join(', ')}</a
                >
                ${soft(plural(g.count, '{n} record', '{n} records'))}`,
              html`${words(g.reasons.join(', '))}: <span dir="auto">${g.value}</span>`,
              may('write') && button('Not the same', () => dismiss(kind, g)),
            ]),
          )
        : empty(`No ${namesOf(kind).title} seem to be the same.`)
    }
    <p class="buttons">
      ${
        after && html`<a class="button" href=${at({ min: String(min) })}>First page</a>`
      }${next && html`<a class="button" href=${at({ min: String(min), after: next })}>Next page</a>`}
    </p>`;
}

/** Says that the records of a group are not the same. @param {Entity} kind @param {SameRecords} group */
async function dismiss(kind, group) {
  const path = `/v1/${kind.entity}/duplicates/dismiss`;
  const ids = idsOf(group.records);
  await post(path, { ids }, { key: newKey() });
  toast('They are not listed as duplicates any more', {
    undo: async () => {
      await post(path, { ids, dismissed: false }, { key: newKey() });
      await reload();
    },
  });
  await reload();
}

/**
 * Merges all groups that are almost certain, after a question that counts them.
 * @param {Groups} model
 */
async function mergeAll({ kind }) {
  const path = /** @type {const} */ (`/v1/${kind.entity}/duplicates/merge`);
  const { matched: n } = await post(path, { min_score: 0.9, dry_run: true });
  if (!n) return toast('No group is certain enough');
  const action = plural(n, 'Merge {n} group', 'Merge {n} groups');
  if (
    !(await confirm({
      action,
      text:
        'Of each group stays whoever is in a running sequence, or else who has most ' +
        'values. You can undo this for 30 days.',
    }))
  )
    return;
  const { id } = await post(path, { min_score: 0.9, expect: n }, { key: newKey() });
  followOperation(id, {
    href: `${kind.path}/duplicates`,
    label: action,
    done: ({ changed }) => plural(changed, '{n} group merged', '{n} groups merged'),
  });
}
