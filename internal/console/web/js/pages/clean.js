// @ts-check
// Cleaning up: records that are the same are merged, records that were deleted are restored.
import { is, list, newKey, post, request, schemaOf, tags } from '../api.js';
import { confirm } from '../components/dialog.js';
import { knownName, nameOf, resolveAll } from '../components/field.js';
import { guessReference, valueName } from '../components/filter.js';
import {
  button,
  empty,
  failed,
  heading,
  selected,
  soft,
  table as rowsOf,
  tabs,
  toast,
  when,
} from '../components/parts.js';
import { column, Table } from '../components/table.js';
import { html, keyed } from '../dom.js';
import { words } from '../format.js';
import { encode } from '../query.js';
import { go, link, reload } from '../router.js';
import { may, update } from '../state.js';
import { plural } from '../text.js';
import { entities, kindOf, namesOf, valueAt, withTags } from './entities.js';
import { frame } from './settings.js';
import { followOperation, operationWith, undoOf } from './undo.js';

const joined = ['tags', 'notes', 'do_not_contact']; // of which a merge takes all values

const percent = (/** @type {number} */ score) => `${Math.round(score * 100)}%`;

/** The list of groups, or the records to merge if they were chosen. @type {PageModule} */
export const duplicatesPage = {
  title: () => 'Duplicates',
  async load({ path, search }, signal) {
    const kind = entities[path.split('/')[1]];
    const ids = search.get('ids')?.split(',');
    if (!ids) {
      const after = search.get('after');
      const min = Number(search.get('min')) || 0.8;
      return {
        kind,
        after,
        min,
        ...(await post(
          `/v1/${kind.entity}/duplicates`,
          { min_score: min, ...(after ? { next: after } : {}) },
          { signal },
        )),
      };
    }
    const schema = withTags(await schemaOf(kind.entity), await tags());
    const records = (await list(kind.list, { filters: [is('id', ids.slice(0, 10))] }, { signal }))
      .data;
    const fields = schema.fields.filter(
      (f) =>
        (!f.read_only || joined.includes(f.key) || f.key === 'created_at') &&
        records.some((/** @type {Item} */ r) => textOf(f, r)),
    );
    for (const f of fields)
      if (f.type === 'reference')
        await resolveAll(
          f.reference || guessReference(f.key),
          records.flatMap((/** @type {Item} */ r) => valueAt(r, f.key) || []),
        ).catch(() => {});
    return {
      kind,
      ids,
      found: search.has('found'),
      records,
      fields,
      keep: records[0]?.id,
      out: new Set(),
      from: {},
    };
  },
  view(model) {
    const { kind, ids } = model;
    return html`<div class="page full">
      ${heading({
        up: [kind.path, kind.title],
        title: ids ? 'Merge' : 'Duplicates',
        note:
          !ids &&
          plural(model.total, '{n} group that may be the same', '{n} groups that may be the same'),
        actions:
          !ids &&
          may('write') &&
          model.total > 0 &&
          button('Merge all from 90%…', () => mergeAll(model), 'primary'),
      })}
      ${ids ? compare(model) : shown(model)}
    </div>`;
  },
};

/** @param {any} model */
function shown({ kind, groups, min, next, after }) {
  const at = (/** @type {Record<string, any>} */ query) =>
    link(`${kind.path}/duplicates${encode({}, query)}`);
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
          html`<a class="button" aria-current=${score === min} href=${at({ min: score })}
            >${label}</a
          >`,
      )}
    </p>
    ${
      groups.length
        ? rowsOf(
            ['Certainty', kind.title, 'Because', ''],
            groups.map((/** @type {any} */ g) => [
              percent(g.score),
              html`<a
                  href=${at({
                    ids: g.records
                      .slice(0, 10)
                      .map((/** @type {Item} */ r) => r.id)
                      .join(),
                    found: 1,
                  })}
                  >${[...new Set(g.records.slice(0, 4).map(nameOf))].join(', ')}</a
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
        after && html`<a class="button" href=${at({ min })}>First page</a>`
      }${next && html`<a class="button" href=${at({ min, after: next })}>Next page</a>`}
    </p>`;
}

/** Says that the records of a group are not the same. @param {Entity} kind @param {any} group */
async function dismiss(kind, group) {
  const path = `/v1/${kind.entity}/duplicates/dismiss`;
  const ids = group.records.map((/** @type {Item} */ r) => r.id);
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
 * @param {any} model
 */
async function mergeAll({ kind }) {
  const path = `/v1/${kind.entity}/duplicates/merge`;
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

/** The value of a field as text. @param {Field} f @param {Item} record */
function textOf(f, record) {
  return [valueAt(record, f.key) ?? []]
    .flat()
    .map((v) => valueName(f, v))
    .join(', ');
}

/** The record whose value of a field stays. @param {any} model @param {Field} f */
function sourceOf({ records, keep, out, from }, f) {
  const filled = records
    .filter((/** @type {Item} */ r) => !out.has(r.id) && textOf(f, r))
    .map((/** @type {Item} */ r) => r.id);
  return [from[f.key], keep, filled[0]].find((id) => filled.includes(id));
}

/** The heading of a record, which decides whether it stays and is merged. @param {any} model @param {Item} r */
function recordHead(model, r) {
  const { kind, records, keep, out } = model;
  return html`<th scope="col">
    <a href=${link(`${kind.path}/${r.id}`)} dir="auto">${nameOf(r)}</a>
    <label class="check"
      ><input
        type="radio"
        name="keep"
        .checked=${r.id === keep}
        @change=${() => {
          model.keep = r.id;
          out.delete(r.id);
          update();
        }}
      />
      Keep this one</label
    >
    ${
      r.id !== keep &&
      records.length > 2 &&
      html`<label class="check"
        ><input
          type="checkbox"
          .checked=${!out.has(r.id)}
          @change=${(e) => {
            if (e.target.checked) out.delete(r.id);
            else out.add(r.id);
            update();
          }}
        />
        Merge</label
      >`
    }
  </th>`;
}

/** The values of a field, of which one is chosen. @param {any} model @param {Field} f */
function fieldValues(model, f) {
  const { records, out, from } = model;
  const source = sourceOf(model, f);
  const differs =
    !joined.includes(f.key) &&
    f.key !== 'created_at' &&
    new Set(records.map((/** @type {Item} */ r) => textOf(f, r)).filter(Boolean)).size > 1;
  return html`<tr>
    <th scope="row">${f.label}</th>
    ${records.map((/** @type {Item} */ r) => {
      const text = html`<span class="wrap" dir="auto">${textOf(f, r) || soft('—')}</span>`;
      return html`<td class=${out.has(r.id) ? 'soft' : ''}>
        ${
          differs && textOf(f, r) && !out.has(r.id)
            ? html`<label class="check"
                ><input
                  type="radio"
                  name=${f.key}
                  .checked=${r.id === source}
                  @change=${() => {
                    from[f.key] = r.id;
                    update();
                  }}
                />
                ${text}</label
              >`
            : text
        }
      </td>`;
    })}
  </tr>`;
}

/** The records side by side. @param {any} model */
function compare(model) {
  const { kind, records, fields, keep, out } = model;
  // A second click on the button of the group before must not merge this one.
  model.shownAt ??= (setTimeout(update, 1000), Date.now());
  const merged = records.filter((/** @type {Item} */ r) => r.id !== keep && !out.has(r.id));
  const name = nameOf(records.find((/** @type {Item} */ r) => r.id === keep));
  const action = plural(
    merged.length,
    'Merge {n} {kind} into {name}',
    'Merge {n} {title} into {name}',
    { ...namesOf(kind), name },
  );
  return html`<div class="scroll-x">
      <table class="compare">
        <thead>
          <tr>
            <td></td>
            ${keyed(
              records,
              (r) => r.id,
              (r) => recordHead(model, r),
            )}
          </tr>
        </thead>
        <tbody>
          ${keyed(
            fields,
            (f) => f.key,
            (f) => fieldValues(model, f),
          )}
        </tbody>
      </table>
    </div>
    ${
      may('write') &&
      html`<div class="section">
        <p>
          ${name} keeps the values chosen above, and gets the tags, audiences, notes, messages,
          tasks, meetings and history of all. Whoever has opted out stays opted out. You can undo
          this for 30 days.
        </p>
        <p class="buttons">
          ${
            merged.length > 0 &&
            button(action, () => merge(model, merged), 'primary', Date.now() - model.shownAt < 1000)
          }
        </p>
      </div>`
    }`;
}

/** @param {any} model @param {Item[]} merged */
async function merge(model, merged) {
  if (model.isMerged) return;
  const { kind, keep, fields } = model;
  const chosen = fields
    .map((/** @type {Field} */ f) => [f.key, sourceOf(model, f)])
    .filter((/** @type {string[]} */ [key, id]) => model.from[key] && id && id !== keep);
  const { body } = await request(
    'POST',
    `/v1/${kind.entity}/${keep}/merge`,
    {
      ids: merged.map((r) => r.id),
      ...(chosen.length ? { fields: Object.fromEntries(chosen) } : {}),
    },
    { key: newKey() },
  );
  model.isMerged = true;
  const operation = await operationWith(body.meta.operation_id);
  toast(plural(merged.length, '{n} {kind} merged', '{n} {title} merged', namesOf(kind)), {
    undo: operation && undoOf(operation),
  });
  await go(model.found ? `${kind.path}/duplicates` : `${kind.path}/${keep}`);
}

const kinds = [
  'contacts',
  'accounts',
  'opportunities',
  'tasks',
  'meetings',
  'audiences',
  'templates',
  'campaigns',
  'tags',
  'fields',
];

/** The kind of a tab of the trash. @param {string} name */
const kindIn = (name) => /** @type {Entity} */ (kindOf(name));

/** Whether the user may restore and delete records of a kind. @param {Entity} kind */
const mayDelete = (kind) => may(kind.entity === 'fields' ? 'admin' : 'write');

/**
 * What tells deleted records of a kind apart beside their names.
 * @param {Entity} kind
 * @returns {[string, (r: Item) => string]}
 */
const detailOf = ({ entity }) =>
  /** @type {Record<string, [string, (r: Item) => string]>} */ ({
    tags: ['Of', (r) => words(r.object_type)],
    fields: ['Of', (r) => `${words(r.entity)}, ${r.key}`],
    campaigns: ['Status', (r) => words(r.status)],
    audiences: ['Contacts', (r) => String(r.contact_count)],
    'sequence-templates': ['Steps', (r) => String(r.steps.length)],
  })[entity] || ['Email or website', (r) => r.email || r.website || ''];

/** @type {PageModule} */
export const trashPage = {
  title: () => 'Trash',
  async load({ search }) {
    const kind = kindIn(kinds.find((name) => name === search.get('kind')) || 'contacts');
    const [detail, detailIn] = detailOf(kind);
    /** @type {any} */
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

/**
 * A page of deleted records.
 * @param {Entity} kind
 * @param {number} page
 * @param {number} page_size
 * @param {AbortSignal} [signal]
 */
const trashed = (kind, page, page_size, signal) =>
  list(`/v1/${kind.entity}/trash/list`, { page, page_size }, { signal });

/**
 * Does something with the selected records, or with all, unless there are not n of them any more.
 * @param {any} model
 * @param {Item} change restore or delete
 * @param {Item} how
 */
const bulk = ({ kind, table, isEverything }, change, how) =>
  post(
    `/v1/${kind.entity}/trash/bulk`,
    { ...(isEverything ? { filters: [] } : { ids: [...table.selected] }), ...change, ...how },
    { key: newKey() },
  );

/**
 * Shows how far an operation on the trash is.
 * @param {any} model
 * @param {string} id
 * @param {string} label
 * @param {string} one
 * @param {string} other
 */
function show(model, id, label, one, other) {
  model.table.clearSelection();
  model.isEverything = false;
  followOperation(id, {
    href: '/settings/trash',
    label,
    done: ({ changed }) => plural(changed, one, other),
  });
}

/** @param {any} model @param {number} n */
async function restore(model, n) {
  const { id } = await bulk(model, { restore: true }, { expect: n });
  show(
    model,
    id,
    plural(n, 'Restoring {n} record', 'Restoring {n} records'),
    '{n} record restored',
    '{n} records restored',
  );
}

/**
 * Deletes the records that were there when it asked, or none if there are others by then.
 * @param {any} model
 */
async function erase(model) {
  const { matched: n } = await bulk(model, { delete: true }, { dry_run: true });
  const action = plural(
    n,
    'Delete {n} {kind} permanently',
    'Delete {n} {title} permanently',
    namesOf(model.kind),
  );
  if (!(await confirm({ text: 'This cannot be undone.', action, danger: true, count: n }))) return;
  const { id } = await bulk(model, { delete: true }, { expect: n });
  show(model, id, action, '{n} record deleted permanently', '{n} records deleted permanently');
}
