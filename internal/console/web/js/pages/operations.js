// @ts-check
// Operations: every import, change of many records, merge, restore, undo and erasure, and what can
// be undone.
import { is, list, post } from '../api.js';
import { knownName, resolveAll } from '../components/field.js';
import {
  button,
  empty,
  failed,
  heading,
  pairs,
  section,
  soft,
  status,
  when,
} from '../components/parts.js';
import { column, Table } from '../components/table.js';
import { html } from '../dom.js';
import { follow } from '../foot.js';
import { go, link } from '../router.js';
import { update } from '../state.js';
import { number, plural } from '../text.js';
import { erasedOf } from './erasure.js';
import {
  askUndo,
  isUndoable,
  keptBecause,
  operationWith,
  problemsOf,
  readUndone,
  sentences,
  titleOf,
  undoneNote,
} from './undo.js';

/** The names of the files of imports, by the id of the import. @type {Record<string, string>} */
const files = {};

/** Reads who did operations, and the names of the files. @param {Operation[]} operations */
async function readNames(operations) {
  const imports = operations
    .filter((o) => o.kind === 'import' && !(o.id in files))
    .map((o) => o.id);
  await Promise.all([
    resolveAll(
      'users',
      operations.map((o) => o.user_id),
    ).catch(() => {}),
    imports.length > 0 &&
      list('/v1/imports/list', { filters: [is('id', imports)], page_size: imports.length })
        .then(({ data }) => {
          for (const i of data) files[i.id] = i.file_name || '';
        })
        .catch(() => {}),
  ]);
}

/** What an operation did, with the name of the file. @param {Operation} o */
const described = (o) => (files[o.id] ? `${titleOf(o)} from ${files[o.id]}` : titleOf(o));

/** Who did it. @param {Operation} o */
const who = (o) => knownName(o.user_id) || 'the service';

/** Until when an operation can be undone, or that it was. @param {Operation} o */
const undoState = (o) =>
  o.undone_by
    ? html`<a href=${link(`/operations/${o.undone_by}`)}>Undone</a>`
    : o.undoable_until
      ? when(o.undoable_until)
      : soft('—');

/** @type {PageModule<{table: Table<Operation>}>} */
export const operationsPage = {
  title: () => 'Operations',
  async load(_params, _signal, previous) {
    if (previous) {
      await previous.table.refresh();
      return previous;
    }
    /** @type {{table: Table<Operation>}} */
    const model = {
      table: new Table({
        label: 'Operations',
        href: (o) => link(`/operations/${o.id}`),
        fetch: (page, page_size, signal) =>
          list(
            '/v1/operations/list',
            { filters: [is('dry_run', false)], page, page_size },
            { signal },
          ),
        columns: [
          column('name', 'What', 300, described),
          column('created_at', 'When', 160, (o) => when(o.created_at)),
          column('user_id', 'By', 160, who),
          column('status', 'Status', 120, (o) => status(o.status)),
          column('until', 'Can be undone until', 170, undoState),
          column(
            'undo',
            'Undo',
            100,
            (o) => isUndoable(o) && button('Undo…', () => askUndo(o), 'plain'),
          ),
        ],
        onLoad: async (page) => {
          await readNames(page.data);
          model.table.draw();
          update();
        },
        empty: () =>
          empty(
            'Nothing yet. Imports, changes of many records, merges and undos are here for 30 days.',
          ),
      }),
    };
    void model.table.refresh().catch(failed);
    return model;
  },
  close: (model) => model.table.close(),
  keys: (model) => model.table.keys((o) => go(`/operations/${o.id}`)),
  view: ({ table }) =>
    html`<div class="page list-page">
      ${heading({
        title: 'Operations',
        note: 'What changed many records in the last 30 days, and until when it can be undone',
      })}${table.element}
    </div>`,
};

/**
 * An operation, if it is kept, and the one that it undid.
 * @typedef {{o: Operation | undefined, before: Operation | undefined}} Model
 */

/** @type {PageModule<Model>} */
export const operationPage = {
  title: ({ o }) => (o ? titleOf(o) : 'Operation'),
  async load({ args, path }, signal) {
    const o = await operationWith(args.id, signal);
    const before = o?.undo_of ? await operationWith(o.undo_of, signal) : undefined;
    const model = { o, before };
    if (!o) return model;
    await Promise.all([readNames(before ? [o, before] : [o]), readUndone(o, signal)]);
    if (o.status === 'running')
      follow({
        read: `/v1/operations/${o.id}`,
        href: path,
        label: titleOf(o),
        done: titleOf,
        seen: (now) => {
          model.o = now;
          update();
        },
      });
    return model;
  },
  view: ({ o, before }) =>
    html`<div class="page">
      ${heading({
        up: ['/operations', 'Operations'],
        title: o ? described(o) : 'Operation',
        note: o && html`${status(o.status)} ${when(o.created_at)}, by ${who(o)}`,
        actions:
          o &&
          html`${
            o.status === 'running' &&
            o.kind !== 'erasure' &&
            button('Cancel', () => post(`/v1/operations/${o.id}/cancel`, {}))
          }${isUndoable(o) && button('Undo…', () => askUndo(o), 'primary')}`,
      })}
      ${o ? details(o, before) : empty('Operations are kept for 30 days. This one is gone.')}
    </div>`,
};

/**
 * What an operation did, and what became of it.
 * @param {Operation} o
 * @param {Operation | undefined} before the operation that it undid
 */
function details(o, before) {
  const kept = keptBecause(o.kept);
  return html`${undoneNote(o)}
  ${section(
    'Result',
    pairs([
      ...(o.kind === 'undo'
        ? facts([
            [
              'Undo of',
              before && html`<a href=${link(`/operations/${before.id}`)}>${described(before)}</a>`,
            ],
            ['Put back', plural(o.undone, '{n} record', '{n} records')],
          ])
        : facts([
            [
              'Changed',
              o.kind === 'template'
                ? plural(o.changed, '{n} person', '{n} people')
                : plural(o.changed, '{n} record', '{n} records'),
            ],
            ['Not changed', o.failed > 0 && number(o.failed)],
          ])),
      ...facts([
        ['Finished', o.finished_at && when(o.finished_at)],
        ['Can be undone until', !o.undone_by && o.undoable_until && when(o.undoable_until)],
        ['Reason', o.reason],
        [
          'Import',
          o.kind === 'import' && html`<a href=${link(`/imports/${o.id}`)}>Show its rows</a>`,
        ],
      ]),
    ]),
  )}${kept.length > 0 && section('What stayed', sentences(kept))}${erasedOf(o)}${problemsOf(o)}`;
}

/** The facts that there are. @param {[string, unknown][]} all @returns {[string, unknown][]} */
const facts = (all) => all.filter(([, value]) => value);
