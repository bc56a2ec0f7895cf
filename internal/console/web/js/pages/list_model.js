// @ts-check
// What the page of a list knows: the view of the address, the table, and the record beside it.
import { is, list } from '../api.js';
import { resolveAll } from '../components/field.js';
import { guessReference, sentence } from '../components/filter.js';
import { button, empty, failed } from '../components/parts.js';
import { Table } from '../components/table.js';
import { html } from '../dom.js';
import { body, encode } from '../query.js';
import { go, link, setSearch } from '../router.js';
import { may, origin, prefer, session, update } from '../state.js';
import { number } from '../text.js';
import { newButton } from './create.js';
import { tagsFor, valueAt, withTags } from './entities.js';
import { columnOf } from './list_columns.js';

/** The id of a record. Those of Previews have another name. @param {Item} record */
const idOf = (record) => String(record.id || record.preview_id);

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
    /** @type {API['View'][] | null} */
    this.views = null;
    this.isEverything = false; // whether all matching records are selected
    /** @type {Item | null} */
    this.peeked = null; // the record beside the list
    this.readAt = Date.now();
    /** @type {{rule: string, total: number, without: Partial<View>}[]} */
    this.hints = [];
    const hasPage = kind.href !== '' && kind.entity !== 'outbox';
    /** @type {Table} */
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
    return `${this.kind.path}/${idOf(record)}`;
  }

  /** @param {Item} record */
  open(record) {
    if (!this.table.options.href) return this.peek(record);
    void go(this.pathOf(record));
  }

  /** Shows a record beside the list, or none. @param {Item | null} [record] */
  peek(record) {
    if (!record && !this.peeked) return;
    this.peeked = record || null;
    setSearch(encode(this.view, { open: record ? idOf(record) : '' }));
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
    const saved = session.preferences.columns?.[this.kind.entity] || [];
    const keys = this.view.cols.length
      ? this.view.cols
      : saved.length
        ? saved.map((c) => c.key)
        : this.kind.columns;
    return keys
      .map((key) => columnOf(this, key, saved.find((c) => c.key === key)?.width))
      .filter((c) => c !== null);
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
