// @ts-check
// The page of any kind of records: search, filters, columns, selection.
import { is, list, schemaOf, tags } from '../api.js';
import { knownName, nameOf, resolveAll } from '../components/field.js';
import { filterBar, guessReference, marketText, sentence } from '../components/filter.js';
import {
  beside,
  button,
  copy,
  empty,
  failed,
  menu,
  pairs,
  selected,
  soft,
  status,
  tabs,
} from '../components/parts.js';
import { Table } from '../components/table.js';
import { html } from '../dom.js';
import { ago, because, show, startOfDay, words } from '../format.js';
import { body, decode, encode, partsOf } from '../query.js';
import { go, link, setSearch } from '../router.js';
import { may, origin, prefer, session, update } from '../state.js';
import { number, why } from '../text.js';
import { actions, create, deleteView, exportCSV, exportExcel, saveView } from './actions.js';
import { createAudience } from './audience.js';
import { entities, tagsFor, valueAt, withTags } from './entities.js';

/** The list of a kind of record. @param {string} name @returns {PageModule} */
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
      ...model.table.keys((/** @type {Item} */ record) => model.open(record)),
      o: () => model.peek(!model.peeked && model.table.record(model.table.cursor)),
      Escape: () => model.peek(),
      '/': () => document.getElementById('search')?.focus(),
      f: () =>
        /** @type {HTMLElement | null} */ (document.querySelector('[data-key="f"]'))?.click(),
    }),
    actions: (model) => actionsOf(model),
    close: (model) => model.close(),
  };
}

/** What a list page knows. */
export class ListModel {
  /**
   * @param {Entity} kind
   * @param {Schema} schema
   * @param {API['Tag'][]} allTags
   * @param {Schema} companies of a market
   * @param {View} state
   * @param {number} [row]
   */
  constructor(kind, schema, allTags, companies, state, row) {
    this.kind = kind;
    this.schema = schema;
    this.companies = companies.fields;
    this.tagsByID = new Map(allTags.map((tag) => [tag.id, tag]));
    withTags(schema, allTags);
    this.view = state;
    this.all = -1;
    /** @type {Item[] | null} */
    this.views = null;
    this.isEverything = false; // whether all matching records are selected
    /** @type {Item | null} */
    this.peeked = null; // the record beside the list
    this.readAt = Date.now();
    /** @type {{rule: string, total: number, without: any}[]} */
    this.hints = [];
    const hasPage = kind.href !== '' && kind.entity !== 'outbox';
    this.table = new Table({
      label: kind.title,
      columns: this.columns(),
      fetch: (page, size, signal) => list(kind.list, body(this.sorted(), page, size), { signal }),
      href: hasPage ? (record) => link(this.pathOf(record)) : undefined,
      onOpen: hasPage ? undefined : (record) => this.peek(record),
      onCursor: (record) => {
        if (this.peeked) this.peek(record);
      },
      selectable: Boolean(kind.actions) && may('write'),
      sort: this.sorted().sort || schema.default_sort,
      onSort: (sort) => this.change({ sort }),
      onColumns: () => this.saveColumns(),
      onLoad: (page) => this.loaded(page),
      onSelect: () => {
        this.isEverything = false;
        update();
      },
      empty: () => this.empty(),
    });
    this.focused = () => {
      if (!document.hidden) update();
    };
    document.addEventListener('visibilitychange', this.focused);
    void this.table
      .refresh({
        first:
          row ??
          (origin.href === kind.path + encode(state) ? origin.first : (state.page - 1) * 100),
      })
      .catch(failed);
  }

  close() {
    document.removeEventListener('visibilitychange', this.focused);
    Object.assign(origin, {
      path: this.kind.path,
      href: this.kind.path + encode(this.view),
      total: this.table.total,
      ids: this.table.ids(),
      first: this.table.first,
    });
    this.table.close();
  }

  /** The tags of this kind of record. */
  tags() {
    return tagsFor(this.kind.entity, [...this.tagsByID.values()]);
  }

  /** The view with the order of the page. */
  sorted() {
    return { ...this.view, sort: this.view.sort || this.kind.sort || '' };
  }

  get isFiltered() {
    return Boolean(this.view.q || this.view.rules.length || this.view.where);
  }

  /** @param {Item} record */
  pathOf(record) {
    return `${this.kind.path}/${record.id || record.preview_id}`;
  }

  /** @param {Item} record */
  open(record) {
    if (!this.table.options.href) return this.peek(record);
    void go(this.pathOf(record));
  }

  /** Shows a record beside the list, or none. @param {any} [record] */
  peek(record) {
    if (!record && !this.peeked) return;
    this.peeked = record || null;
    setSearch(encode(this.view, { open: record ? record.id || record.preview_id : '' }));
    update();
    if (record)
      void this.names(
        this.schema.fields.map((f) => f.key),
        [record],
      ).then(update);
  }

  /** Shows the record of the address. @param {string | null} id */
  async peekAt(id) {
    if (id)
      this.peek(
        (
          await list(this.kind.list, {
            filters: [is(this.kind.entity === 'previews' ? 'preview_id' : 'id', id)],
            page_size: 1,
          }).catch(() => null)
        )?.data[0],
      );
  }

  columns() {
    /** @type {{key: string, width: number}[]} */
    const saved = session.preferences.columns?.[this.kind.entity] || [];
    const keys = this.view.cols.length
      ? this.view.cols
      : saved.length
        ? saved.map((c) => c.key)
        : this.kind.columns;
    return keys
      .map((key) => this.column(key, saved.find((c) => c.key === key)?.width))
      .filter((c) => c !== null);
  }

  /**
   * @param {string} key
   * @param {number} [width]
   * @returns {Column | null}
   */
  column(key, width) {
    const f = this.schema.fields.find((other) => other.key === key);
    const hasName = this.schema.fields.some((other) => other.key === 'name');
    if (!hasName && (key === 'name' || key === 'last_name'))
      return {
        key: 'last_name',
        label: 'Name',
        width: width || 200,
        sortable: true,
        view: nameOf,
      };
    if (key === 'market')
      return { key, label: 'Market', width: 420, view: (p) => marketText(p, this.companies) };
    if (!f && this.kind.entity === 'previews')
      return {
        key,
        label: key === 'people' ? 'People' : 'Companies',
        number: true,
        width: 120,
        view: (p) => (p.totals ? number(p.totals[key].eligible) : ''),
      };
    if (!f) return null;
    const isCount = f.type === 'number' || f.key === 'steps';
    return {
      key,
      label: f.key === 'contact_count' ? 'Contacts' : labelOf(f),
      sortable: f.sortable,
      number: isCount,
      width:
        width ||
        (key === 'title' && this.kind.columns[0] === key
          ? 350
          : widths[key] ||
            (isCount
              ? Math.max(110, 9 * f.label.length + 16)
              : /^(updated|created)_at$/.test(key) && this.kind.entity !== 'previews'
                ? 100
                : 150)),
      view: (record) =>
        key === 'status' && record.held
          ? heldStatus(record.held)
          : [this.cell(f, valueAt(record, key)), key === 'status' && record.dry_run && ', dry run'],
    };
  }

  /** @param {Field} f @param {any} value */
  cell(f, value) {
    if (value === null || value === undefined) return '';
    if (f.key === 'tags') {
      return value
        .map((/** @type {string} */ id) => this.tagsByID.get(id))
        .filter(Boolean)
        .map(
          (/** @type {Item} */ tag) => html`<span class=${`tag ${tag.color}`}>${tag.name}</span> `,
        );
    }
    if (f.key === 'steps') return number(value.length);
    if (f.key === 'step_index') return `Step ${number(value + 1)}`;
    if (f.key === 'audiences') return value.map((/** @type {Item} */ a) => a.name).join(', ');
    if ((f.type === 'reference' && !Array.isArray(value)) || f.key === 'company_id')
      return knownName(value) || '…';
    if (f.key === 'updated_at' || (f.key === 'created_at' && this.kind.entity !== 'previews'))
      return ago(value);
    if (f.key === 'status' || f.key === 'stage' || f.key === 'scoring.heat_score')
      return status(String(value));
    return f.key === 'failure_reason'
      ? words(why(value))
      : f.key === 'error'
        ? because(value)
        : show(f, value);
  }

  /** Loads the names of the records that the rows refer to. @param {Page} page */
  async loaded(page) {
    this.readAt = Date.now();
    if (!this.isFiltered) this.all = this.table.total;
    update();
    await this.names(
      this.table.options.columns.map((c) => c.key),
      page.data,
    );
    this.table.draw();
    if (this.all < 0)
      this.all =
        (await list(this.kind.list, { page_size: 1 }).catch(() => null))?.pagination.total_count ??
        -1;
    if (this.table.total === 0 && this.isFiltered) await this.findHints();
    update();
  }

  /**
   * Loads the names of the records that fields refer to.
   * @param {string[]} keys
   * @param {Item[]} records
   */
  names(keys, records) {
    return Promise.all(
      keys.map(async (key) => {
        const f = this.schema.fields.find((other) => other.key === key);
        if (key === 'id' || (f?.type !== 'reference' && key !== 'company_id')) return;
        await resolveAll(
          f?.reference || guessReference(key),
          records.map((record) => valueAt(record, key)).filter((id) => typeof id === 'string'),
        ).catch(() => {});
      }),
    );
  }

  /** For each rule of a view that matches nothing: how many match without it. */
  async findHints() {
    const { rules, where } = this.view;
    const all = where ? [...rules, where] : rules;
    this.hints = await Promise.all(
      all.slice(0, 6).map(async (rule) => {
        const without = {
          ...this.view,
          rules: rules.filter((other) => other !== rule),
          where: rule === where ? null : where,
          page: 1,
        };
        const page = await list(this.kind.list, body(without, 1, 1));
        return {
          rule: sentence(rule, this.schema.fields),
          total: page.pagination.total_count,
          without,
        };
      }),
    ).catch(() => []);
    this.table.draw();
  }

  /** Changes the view: its address, then its rows. @param {Partial<View>} change */
  change(change) {
    Object.assign(this.view, { page: 1 }, change);
    if ('q' in change && !('rules' in change)) {
      setSearch(encode(this.view));
      void this.refresh();
    } else {
      void go(this.kind.path + encode(this.view));
    }
  }

  refresh(first = 0) {
    this.hints = [];
    this.isEverything = false;
    this.table.selected.clear();
    return this.table
      .refresh({
        columns: this.columns(),
        sort: this.sorted().sort || this.schema.default_sort,
        first,
      })
      .catch((error) => {
        if (error.name !== 'AbortError') failed(error);
      })
      .finally(update);
  }

  saveColumns() {
    const columns = this.table.options.columns.map(({ key, width }) => ({
      key: key === 'last_name' ? 'name' : key,
      width,
    }));
    prefer('columns', { ...session.preferences.columns, [this.kind.entity]: columns }).catch(
      failed,
    );
  }

  empty() {
    const { kind } = this;
    if (!this.isFiltered)
      return empty(
        kind.empty,
        may('write') &&
          html`<span class="buttons"
            >${kind.links?.map(
              ([label, to]) => html`<a class="button" href=${link(to)}>${label}</a>`,
            )}${kind.create && newButton(this)}</span
          >`,
      );
    return empty(
      `No ${kind.one} matches.`,
      html` ${this.hints
        .filter((hint) => hint.total > 0)
        .map((hint) =>
          button(
            `Without “${hint.rule}” there are ${number(hint.total)}.`,
            () => this.change(hint.without),
            'plain',
          ),
        )}
      ${button('Remove all filters', () => this.change({ q: '', rules: [], where: null }))}`,
    );
  }

  async loadViews() {
    this.views = (
      await list('/v1/views/list', {
        page_size: 200,
        sort: 'name',
        filters: [is('entity', this.kind.entity)],
      })
    ).data;
    update();
  }

  /** How many records are selected. */
  get count() {
    return this.isEverything ? this.table.total : this.table.selected.size;
  }
}

/** A held campaign says so and why, whatever its status. @param {Item} held */
const heldStatus = (held) => {
  const text = `Held: ${why(held.reason)}`;
  return html`<span title=${held.detail || text}>${status('held', text)}</span>`;
};

/** The widths of columns that need more or less room than others. @type {Record<string, number>} */
const widths = {
  name: 300,
  title: 250,
  subject: 300,
  to: 280,
  description: 400,
  website: 220,
  tags: 180,
  account_id: 180,
  country: 120,
};

/** The label of a field, of a reference that of what it names. @param {Field} f */
const labelOf = (f) =>
  f.label.replace(
    f.type === 'reference' || f.key === 'company_id' ? / ID$/ : / (at|index)$|(?<=Template) name$/,
    '',
  );

/** @param {ListModel} model */
const newButton = (model) => button(`New ${model.kind.one}`, () => create(model), 'primary');

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
  const value = (/** @type {Field} */ f, v = valueAt(record, f.key)) =>
    v?.length === 0 ? '' : f.type === 'datetime' ? show(f, v) : model.cell(f, v);
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

/**
 * A way to save this view, which stays in its place while the saved views load, and those.
 * @param {ListModel} model
 */
const viewItems = (model) =>
  html`${
    may('write') &&
    html`<button class="item" type="button" @click=${() => saveView(model)}>
      Save this view…
    </button>`
  }
  ${(model.views || []).map(
    (v) =>
      html`<span class="item"
        ><a class="grow clip" href=${link(model.kind.path + encode(viewOf(v)))} dir="auto"
          >${v.name}</a
        >
        ${
          may('write') &&
          html`<button
            class="button plain"
            type="button"
            aria-label=${`Delete the view ${v.name}`}
            @click=${(e) => {
              e.target.closest('details').firstElementChild.focus();
              void deleteView(model, v);
            }}
          >
            ×
          </button>`
        }</span
      >`,
  )}
  ${model.views?.length === 0 && soft('No views yet.')}`;

/** @param {Item} v @returns {Partial<View>} */
function viewOf(v) {
  return {
    q: v.searching_rule?.value || '',
    ...partsOf(v.filtering_rules),
    sort: v.sort || '',
    cols: v.columns || [],
  };
}

/** @param {ListModel} model */
function quickViews({ kind }) {
  const dates = {
    '{today}': startOfDay(0).toISOString(),
    '{tomorrow}': startOfDay(1).toISOString(),
  };
  return tabs(
    (kind.quick || []).map(([label, query]) => {
      const search = Object.entries(dates).reduce(
        (text, [name, value]) => text.replace(name, value),
        query && `?${query}`,
      );
      const isNow =
        query === kind.path ||
        String(new URLSearchParams(location.search)) === String(new URLSearchParams(search));
      return [label, query.startsWith('/') ? query : kind.path + search, isNow];
    }),
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
function columnsMenu(model) {
  const keys = model.table.options.columns.map((c) => (c.key === 'last_name' ? 'name' : c.key));
  const all = [
    ...new Set([...keys, ...model.schema.fields.map((f) => f.key).filter((key) => key !== 'id')]),
  ];
  return menu(
    'Columns',
    all.map(
      (key) =>
        html`<span class="item"
          ><label class="check grow"
            ><input
              type="checkbox"
              .checked=${keys.includes(key)}
              ?disabled=${keys[0] === key}
              @change=${(e) =>
                setColumns(
                  model,
                  e.target.checked ? [...keys, key] : keys.filter((other) => other !== key),
                )}
            />
            ${
              key === 'name'
                ? 'Name'
                : model.schema.fields.find((f) => f.key === key)?.label || words(key)
            }</label
          >
          ${
            keys.indexOf(key) > 1 &&
            html`<button
              class="button plain"
              type="button"
              aria-label="Move to the left"
              @click=${() => setColumns(model, moved(keys, key))}
            >
              ←
            </button>`
          }</span
        >`,
    ),
  );
}

/** @param {string[]} keys @param {string} key */
function moved(keys, key) {
  const at = keys.indexOf(key);
  return keys.map((other, i) => (i === at ? keys[at - 1] : i === at - 1 ? key : other));
}

/** @param {ListModel} model @param {string[]} cols */
function setColumns(model, cols) {
  model.view.cols = cols;
  setSearch(encode(model.view));
  model.table.options.columns = model.columns();
  model.saveColumns();
  void model.refresh();
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
