// @ts-check
// The page of any kind of records: search, filters, columns, selection.
import { schemaOf, tags } from '../api.js';
import { nameOf } from '../components/field.js';
import { filterBar } from '../components/filter.js';
import { beside, button, copy, menu, pairs, selected } from '../components/parts.js';
import { html } from '../dom.js';
import { ago, show } from '../format.js';
import { body, decode } from '../query.js';
import { go, link } from '../router.js';
import { may, update } from '../state.js';
import { number } from '../text.js';
import { actions } from './actions.js';
import { createAudience } from './audience_new.js';
import { newButton } from './create.js';
import { entities, valueAt } from './entities.js';
import { cellOf, labelOf } from './list_columns.js';
import { exportCSV, exportExcel } from './list_export.js';
import { columnsMenu, quickViews, viewItems } from './list_menus.js';
import { ListModel } from './list_model.js';

/** The list of a kind of record. @param {string} name @returns {PageModule<ListModel>} */
export function listPage(name) {
  const kind = entities[name];
  return {
    title: () => kind.title,
    async load({ search, row }, _signal, previous) {
      const view = decode(search, ['open']);
      if (previous) {
        previous.view = view;
        await previous.refresh(row);
      }
      const model =
        previous ||
        new ListModel(
          kind,
          ...(await Promise.all([
            schemaOf(kind.entity),
            tags(),
            schemaOf(name === 'previews' ? 'companies' : kind.entity),
          ])),
          view,
          row,
        );
      model.peeked = null;
      void model.peekAt(search.get('open'));
      return model;
    },
    view,
    keys: (model) => ({
      ...model.table.keys((record) => model.open(record)),
      o: () => model.peek(model.peeked ? null : model.table.record(model.table.cursor)),
      Escape: () => model.peek(),
      '/': () => document.getElementById('search')?.focus(),
      f: () =>
        /** @type {HTMLElement | null} */ (document.querySelector('[data-key="f"]'))?.click(),
    }),
    actions: (model) => actionsOf(model),
    close: (model) => model.close(),
  };
}

/** The actions of the page, in the palette too. @param {ListModel} model @returns {Action[]} */
function actionsOf(model) {
  return [
    ...(model.kind.canExport
      ? [
          { label: 'Export as CSV', act: () => exportCSV(model) },
          { label: 'Export for Excel', act: () => exportExcel(model) },
        ]
      : []),
    ...(model.kind.actions?.includes('merge')
      ? [{ label: 'Find duplicates', act: () => go(`${model.kind.path}/duplicates`) }]
      : []),
    ...(model.kind.entity === 'contacts' && may('write')
      ? [{ label: 'Save as audience…', act: () => createAudience(model.view) }]
      : []),
    { label: 'Copy as request', act: () => copy(asCurl(model)) },
    { label: 'Refresh', act: () => model.refresh() },
  ];
}

/** The view as a request. @param {ListModel} model */
function asCurl(model) {
  const json = JSON.stringify(body(model.sorted(), 1, 100)).replaceAll("'", "'\\''");
  const headers = `-H "Authorization: Bearer $KEY" -H 'Content-Type: application/json'`;
  return `curl -s ${headers} '${location.origin}${model.kind.list}' -d '${json}'`;
}

/** The title of the list, its search and what makes new records. @param {ListModel} model @param {string} count */
function listHeading(model, count) {
  const { kind, view: state } = model;
  return html`<header class="heading">
    <h1 tabindex="-1">${kind.title} <span class="soft">${count}</span></h1>
    ${
      kind.search &&
      html`<input
        id="search"
        class="search"
        type="search"
        aria-label=${kind.search}
        placeholder=${kind.search}
        dir="auto"
        .value=${state.q}
        @input=${(e) => searchSoon(model, e.target.value)}
      />`
    }
    ${
      may('write') &&
      (kind.links || kind.create) &&
      html`<div class="buttons">
        ${kind.links?.map(
          ([label, to]) =>
            html`<a class=${kind.create ? 'button' : 'button primary'} href=${link(to)}
              >${label}</a
            >`,
        )}${kind.create && newButton(model)}
      </div>`
    }
  </header>`;
}

/** @param {ListModel} model */
function view(model) {
  const { kind, table, view: state } = model;
  const count =
    table.total < 0
      ? ''
      : model.isFiltered && model.all > 0
        ? `${number(table.total)} of ${number(model.all)}`
        : number(table.total);
  return html`<div class="page list-page">
    ${listHeading(model, count)}
    ${
      (state.unknown || []).length > 0 &&
      html`<p class="notice warn">
        Unknown parts of the address: ${(state.unknown || []).join(', ')}
      </p>`
    }
    ${
      table.damaged > 0 &&
      html`<p class="notice bad">
        ${number(table.damaged)} records cannot be read and are left out. The operator can run:
        prospector check.
      </p>`
    }
    <div class="toolbar">
      ${kind.quick && quickViews(model)}
      ${filterBar({
        entity: kind.actions || kind.canCount ? kind.entity : undefined,
        view: () => model.view,
        fields: model.schema.fields,
        onChange: (rules, where) => model.change({ rules, where }),
      })}
      <span class="buttons"
        >${
          kind.entity !== 'previews' && menu('Views', viewItems(model), () => model.loadViews())
        }${columnsMenu(model)}${menu(
          'More',
          actionsOf(model).map(
            (a) => html`<button class="item" type="button" @click=${a.act}>${a.label}</button>`,
          ),
        )}</span
      >
    </div>
    <div class="beside">${table.element}${model.peeked && peekPanel(model, model.peeked)}</div>
    ${
      Date.now() - model.readAt > 60_000 &&
      !document.hidden &&
      html`<p class="notice selection">
        This list is ${ago(model.readAt)} old. ${button('Refresh', () => model.refresh())}
      </p>`
    }
    ${selectionBar(model)}
  </div>`;
}

/** The fields of a record beside the list. @param {ListModel} model @param {Item} record */
function peekPanel(model, record) {
  const fields = model.schema.fields
    .filter((f) => f.key !== 'id' && f.key !== 'body')
    .sort((a, b) => Number(a.read_only) - Number(b.read_only));
  const value = (/** @type {Field} */ f) => {
    const v = valueAt(record, f.key);
    if (v === '' || (Array.isArray(v) && v.length === 0)) return '';
    return f.type === 'datetime' ? show(f, v) : cellOf(model, f, v);
  };
  const href = model.table.options.href?.(record);
  return beside(
    nameOf(record),
    href
      ? html`<a class="button" href=${href}>Open</a>`
      : record.contact_id &&
          !record.contact_deleted &&
          html`<a class="button" href=${link(`/contacts/${record.contact_id}`)}>Contact</a>`,
    () => model.peek(),
    html`${
      record.body && html`<div class="mail wrap" dir="auto">${record.body}</div>`
    }${pairs(fields.map((f) => [labelOf(f), value(f) || '—']))}`,
  );
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;

/** @param {ListModel} model @param {string} q */
function searchSoon(model, q) {
  clearTimeout(typing);
  typing = setTimeout(() => model.change({ q }), 150);
}

/** @param {ListModel} model */
function selectionBar(model) {
  const { table, kind } = model;
  /** @type {[string, string][]} */
  const all = [
    ['done', 'Mark as done'],
    ['campaign', 'Campaign…'],
    ['audience', 'Audience…'],
    ['tag', 'Tags…'],
    ['edit', 'Change a field…'],
    ['merge', 'Merge…'],
    ['delete', 'Delete…'],
  ];
  const n = model.isEverything ? 0 : table.selected.size;
  const possible = all.filter(
    ([action]) => kind.actions?.includes(action) && (action !== 'merge' || (n > 1 && n <= 10)),
  );
  return selected(
    model,
    () =>
      html`${possible.map(([action, label]) =>
        button(label, () => actions[action](model), action === 'delete' ? 'danger' : ''),
      )}
      ${button(
        'Clear',
        () => {
          table.clearSelection();
          model.isEverything = false;
          update();
        },
        'plain',
      )}`,
    true,
  );
}
