// @ts-check
// Cleaning up: records that are the same are merged, records that were deleted are restored.
import { knownName, nameOf, resolveAll } from '../components/field.js';
import { button, empty, failed, heading, selected, tabs, when } from '../components/parts.js';
import { column, Table } from '../components/table.js';
import { html } from '../dom.js';
import { update } from '../state.js';
import { plural } from '../text.js';
import { groupsHeading, readGroups, shown } from './duplicates.js';
import { entities, namesOf } from './entities.js';
import { compare, readRecords } from './merge.js';
import { frame } from './settings.js';
import { detailOf, erase, kindIn, kinds, mayDelete, restore, trashed } from './trash.js';

/** @typedef {import('./duplicates.js').Groups} Groups */
/** @typedef {import('./merge.js').Merge} Merge */
/** @typedef {import('./trash.js').Trash} Trash */

/**
 * The list of groups, or the records to merge if they were chosen.
 * @type {PageModule<Groups | Merge>}
 */
export const duplicatesPage = {
  title: () => 'Duplicates',
  load({ path, search }, signal) {
    const kind = entities[path.split('/')[1]];
    const ids = search.get('ids')?.split(',');
    return ids
      ? readRecords(kind, ids, search.has('found'), signal)
      : readGroups(kind, search, signal);
  },
  view: (model) =>
    html`<div class="page full">
      ${
        'ids' in model
          ? html`${heading({
              up: [model.kind.path, model.kind.title],
              title: 'Merge',
              needs: 'write',
            })}
            ${compare(model)}`
          : html`${groupsHeading(model)} ${shown(model)}`
      }
    </div>`,
};

/** @type {PageModule<Trash>} */
export const trashPage = {
  title: () => 'Trash',
  async load({ search }) {
    const kind = kindIn(kinds.find((name) => name === search.get('kind')) || 'contacts');
    const [detail, detailIn] = detailOf(kind);
    /** @type {Trash} */
    const model = {
      kind,
      isEverything: false,
      table: new Table({
        label: 'Trash',
        selectable: mayDelete(kind),
        onSelect: () => {
          model.isEverything = false;
          update();
        },
        fetch: (page, page_size, signal) => trashed(kind, page, page_size, signal),
        columns: [
          column('name', 'Name', 240, nameOf),
          column('deleted_at', 'Deleted', 160, (r) => when(r.deleted_at)),
          column('until', 'Kept until', 160, (r) =>
            when(Date.parse(r.deleted_at) + 30 * 24 * 60 * 60_000),
          ),
          column('deleted_by', 'By', 160, (r) => knownName(r.deleted_by)),
          column('email', detail, 240, detailIn),
        ],
        onLoad: async (page) => {
          await resolveAll(
            'users',
            page.data.map((r) => r.deleted_by),
          ).catch(() => {});
          model.table.draw();
          update();
        },
        empty: () => empty('Nothing is here. What you delete can be restored.'),
      }),
    };
    void model.table.refresh().catch(failed);
    return model;
  },
  close: (model) => model.table.close(),
  keys: (model) => model.table.keys(() => {}),
  view(model) {
    const { kind, table } = model;
    return frame(
      'trash',
      html`${tabs(
          kinds.map((name) => [
            kindIn(name).title,
            `/settings/trash?kind=${name}`,
            kindIn(name) === kind,
          ]),
        )}
        <p class="soft">
          ${
            table.total > 0
              ? plural(table.total, '{n} deleted {kind}', '{n} deleted {title}', namesOf(kind))
              : '\u00a0'
          }
        </p>
        ${table.element}
        ${selected(
          model,
          (n) =>
            html`${button(
              plural(n, 'Restore {n} {kind}', 'Restore {n} {title}', namesOf(kind)),
              () => restore(model, n),
              'primary',
            )}
            ${button('Delete permanently…', () => erase(model), 'danger')}`,
          true,
        )}`,
      null,
      'list-page',
    );
  },
};
