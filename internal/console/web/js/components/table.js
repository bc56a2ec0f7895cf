// @ts-check
// A table of any length. It renders the visible rows and fetches blocks of records as they come into
// view. The scrollbar stands for the exact total.
import { ApiError } from '../api.js';
import { html, keyed, render } from '../dom.js';
import { number, plural } from '../text.js';
import { announce } from '../state.js';

/**
 * @template R
 * @param {string} key
 * @param {string} label
 * @param {number} width
 * @param {(record: R) => unknown} view
 * @returns {Column<R>}
 */
export const column = (key, label, width, view) => ({ key, label, width, view });

const blockSize = 100;
const margin = 10; // rows above and below the visible ones
const maxHeight = 10_000_000; // browsers cannot make elements much higher

/** @template {{id: string}} [R=Item] what the records are */
export class Table {
  /** @param {TableOptions<R>} options */
  constructor(options) {
    this.options = options;
    this.element = document.createElement('div');
    this.element.className = 'table';
    this.element.tabIndex = 0;
    this.element.setAttribute('role', 'region');
    this.element.setAttribute('aria-label', options.label);
    this.element.addEventListener('scroll', () => this.#scheduleDraw(), { passive: true });
    /** @type {Map<number, R[]>} */
    this.blocks = new Map();
    /** @type {Map<number, AbortController>} */
    this.loading = new Map();
    this.total = -1; // not known yet
    this.damaged = 0;
    this.problem = ''; // why the service refuses the query
    /** @type {Set<string>} */
    this.selected = new Set();
    this.cursor = -1;
    this.anchor = -1;
    this.generation = 0;
    this.isLate = false;
    this.stretch = 1; // how much wider than they must be the columns are, to fill the page
    /** @type {number | undefined} */
    this.wanted = undefined; // the row to scroll to when it is there
    this.resize = new ResizeObserver(() => {
      this.#fill();
      this.#scheduleDraw();
    });
    this.resize.observe(this.element);
  }

  close() {
    this.resize.disconnect();
    for (const load of this.loading.values()) load.abort();
  }

  /**
   * Loads the records again, with other options perhaps.
   * @param {Partial<TableOptions<R>>} [options]
   */
  async refresh(options = {}) {
    Object.assign(this.options, options);
    this.#fill();
    this.generation++;
    for (const load of this.loading.values()) load.abort();
    this.loading.clear();
    this.element.classList.add('dimmed');
    const first = this.#firstVisible();
    const old = this.blocks;
    this.blocks = new Map();
    this.wanted = options.first;
    await this.#load(Math.floor((options.first ?? first) / blockSize), old);
  }

  /** Widens the columns where there is room, but not so much that a row is hard to follow. */
  #fill() {
    const least = this.options.columns.reduce((sum, c) => sum + c.width, 0);
    this.stretch = Math.max(1, Math.min(1.6, this.element.clientWidth / least));
  }

  rowHeight() {
    return Number.parseInt(getComputedStyle(this.element).getPropertyValue('--row'), 10) || 36;
  }

  /** The factor by which the scrollbar is shortened for very long tables. */
  #scale() {
    return Math.max(1, (this.total * this.rowHeight()) / maxHeight);
  }

  #firstVisible() {
    return Math.max(0, Math.floor((this.element.scrollTop * this.#scale()) / this.rowHeight()));
  }

  /** The first row on the screen. */
  get first() {
    return this.#firstVisible();
  }

  /** @param {number} row */
  scrollTo(row) {
    const height = this.rowHeight();
    const top = (row * height) / this.#scale();
    const visible = this.element.clientHeight - height;
    if (top < this.element.scrollTop || top + height > this.element.scrollTop + visible) {
      this.element.scrollTop = Math.max(0, top - visible / 3);
    }
    this.#draw();
  }

  /** The record in a row, if it is loaded. @param {number} row */
  record(row) {
    return this.blocks.get(Math.floor(row / blockSize))?.[row % blockSize];
  }

  /** The records that are loaded. */
  records() {
    return [...this.blocks.entries()].sort(([a], [b]) => a - b).flatMap(([, records]) => records);
  }

  /** The ids of the rows around the visible ones, by row. @returns {string[]} */
  ids() {
    /** @type {string[]} */
    const ids = [];
    for (const [block, records] of this.blocks)
      records.forEach((record, i) => {
        ids[block * blockSize + i] = record.id;
      });
    return ids;
  }

  /** @param {number} block @param {Map<number, R[]>} [old] */
  async #load(block, old) {
    if (this.loading.has(block) || this.blocks.has(block)) return;
    const { generation } = this;
    const abort = new AbortController();
    this.loading.set(block, abort);
    if (this.total < 0)
      setTimeout(() => {
        this.isLate = true;
        this.#scheduleDraw();
      }, 150);
    try {
      const page = await this.options.fetch(block + 1, blockSize, abort.signal);
      if (generation !== this.generation) return;
      const known = this.total;
      this.total = page.pagination.total_count;
      this.problem = '';
      this.damaged = page.meta.damaged || 0;
      this.blocks.set(block, page.data);
      this.element.classList.remove('dimmed');
      if (known !== this.total) announce(plural(this.total, '{n} result', '{n} results'));
      await this.options.onLoad?.(page);
    } catch (error) {
      if (abort.signal.aborted || generation !== this.generation) return;
      this.element.classList.remove('dimmed');
      if (error instanceof ApiError && error.status === 422) {
        // no record matches what is refused
        this.total = 0;
        this.problem = error.message;
        this.clearSelection();
        return;
      }
      if (old) this.blocks = old;
      throw error;
    } finally {
      if (this.loading.get(block) === abort) this.loading.delete(block);
      this.#draw();
    }
  }

  #scheduleDraw() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.#draw();
    });
  }

  #draw() {
    const height = this.rowHeight();
    const scale = this.#scale();
    const room = Math.ceil(this.element.clientHeight / height) + 1;
    const first = Math.max(0, Math.min(this.#firstVisible(), Math.max(0, this.total - room + 1)));
    const from = Math.max(0, first - margin);
    const to = Math.min(Math.max(0, this.total), first + room + margin);
    if (this.total >= 0) this.#loadAround(first, room, from, to);
    const rows = Array.from(
      { length: this.total < 0 && this.isLate ? room - 1 : to - from },
      (_, i) => from + i,
    );
    // Where the scrollbar is shortened, the rows are placed at the position of the scrollbar.
    const above =
      scale === 1 ? from * height : Math.max(0, this.element.scrollTop - (first - from) * height);
    const below =
      scale === 1
        ? (this.total - to) * height
        : Math.max(0, maxHeight - above - rows.length * height);
    render(this.#body(rows, room, above, below), this.element);
    if (
      this.wanted === undefined ||
      !this.element.clientHeight ||
      !this.blocks.has(Math.floor(this.wanted / blockSize))
    )
      return;
    // the row becomes the first one
    this.element.scrollTop = Math.ceil((this.wanted * height) / scale);
    this.wanted = undefined;
    this.#draw();
  }

  /**
   * Loads the rows on the screen, and ends loads that are far away.
   * @param {number} first
   * @param {number} room
   * @param {number} from
   * @param {number} to
   */
  #loadAround(first, room, from, to) {
    for (
      let block = Math.floor(first / blockSize);
      block * blockSize < Math.min(this.total, first + room);
      block++
    ) {
      if (!this.blocks.has(block)) void this.#load(block).catch(() => {});
    }
    for (const [block, load] of this.loading) {
      if (block < Math.floor(from / blockSize) - 1 || block > Math.floor(to / blockSize) + 1)
        load.abort();
    }
  }

  /**
   * @param {number[]} rows
   * @param {number} room how many fit
   * @param {number} above the height of what is not drawn
   * @param {number} below
   */
  #body(rows, room, above, below) {
    const { columns } = this.options;
    return html` <table aria-rowcount=${Math.max(0, this.total) + 1}>
        <colgroup>
          ${keyed(
            columns,
            (c) => c.key,
            (c) => html`<col width=${c.width * this.stretch} />`,
          )}
          <col />
        </colgroup>
        <thead>
          <tr aria-rowindex="1">
            ${keyed(
              columns,
              (c) => c.key,
              (c, i) => this.#header(c, i),
            )}
            <th aria-hidden="true"></th>
          </tr>
        </thead>
        <tbody>
          <tr class="spacer" aria-hidden="true">
            <td colspan=${columns.length + 1} height=${above}></td>
          </tr>
          ${keyed(
            rows,
            (row) => row % (room + 2 * margin + 1),
            (row) => this.#row(row),
          )}
          <tr class="spacer" aria-hidden="true">
            <td colspan=${columns.length + 1} height=${Math.max(0, below)}></td>
          </tr>
        </tbody>
      </table>
      ${
        this.total === 0 &&
        (this.problem
          ? html`<p class="notice bad" role="alert">${this.problem}</p>`
          : this.options.empty?.())
      }`;
  }

  /** @param {Column<R>} col @param {number} index */
  #header(col, index) {
    const sort = this.options.sort || '';
    const isSorted = sort.replace(/^-/, '') === col.key;
    const order = !isSorted ? null : sort.startsWith('-') ? 'descending' : 'ascending';
    return html`<th scope="col" class=${col.number ? 'number' : ''} aria-sort=${order}>
      ${
        index === 0 && this.options.selectable
          ? html`<span class="name"
              ><input
                type="checkbox"
                aria-label="Select all loaded rows"
                .checked=${this.selected.size > 0 && this.selected.size === this.records().length}
                .indeterminate=${
                  this.selected.size > 0 && this.selected.size < this.records().length
                }
                @change=${(e) => this.#selectLoaded(e.target.checked)}
              />${this.#label(col, order)}</span
            >`
          : this.#label(col, order)
      }
      ${
        this.options.onColumns &&
        html`<span
          class="grip"
          aria-hidden="true"
          @pointerdown=${(e) => this.#resizeColumn(e, col)}
        ></span>`
      }
    </th>`;
  }

  /** @param {Column<R>} col @param {string | null} order */
  #label(col, order) {
    const arrow = order === 'ascending' ? ' ▲' : order === 'descending' ? ' ▼' : '';
    if (!col.sortable || !this.options.onSort) return col.label;
    return html`<button
      type="button"
      @click=${() => this.options.onSort?.(order === 'ascending' ? `-${col.key}` : col.key)}
    >
      ${col.label}${arrow}
    </button>`;
  }

  /** @param {PointerEvent} event @param {Column<R>} col */
  #resizeColumn(event, col) {
    event.preventDefault();
    const start = event.clientX - col.width * this.stretch;
    const grip = /** @type {HTMLElement} */ (event.target);
    grip.setPointerCapture(event.pointerId);
    const move = (/** @type {PointerEvent} */ e) => {
      col.width = Math.max(64, (e.clientX - start) / this.stretch);
      this.#draw();
    };
    grip.addEventListener('pointermove', move);
    grip.addEventListener(
      'pointerup',
      () => {
        grip.removeEventListener('pointermove', move);
        this.options.onColumns?.(this.options.columns);
      },
      { once: true },
    );
  }

  /** @param {number} row */
  #row(row) {
    const record = this.record(row);
    const { columns } = this.options;
    if (!record) {
      return html`<tr aria-rowindex=${row + 2}>
        ${columns.map(() => html`<td><span class="skeleton"></span></td>`)}
        <td></td>
      </tr>`;
    }
    const isSelected = this.selected.has(record.id);
    return html`<tr
      aria-rowindex=${row + 2}
      class=${`${isSelected ? 'selected ' : ''}${row === this.cursor ? 'cursor' : ''}`}
      @click=${(e) => this.#click(e, row)}
    >
      ${keyed(
        columns,
        (c) => c.key,
        (col, i) =>
          i === 0
            ? this.#nameCell(record, row)
            : html`<td
                class=${col.number ? 'number' : ''}
                data-label=${col.number && `${col.label} `}
                dir="auto"
              >
                ${col.view(record, row)}
              </td>`,
      )}
      <td></td>
    </tr>`;
  }

  /** The first cell of a row, which selects and opens the record. @param {R} record @param {number} row */
  #nameCell(record, row) {
    const {
      columns: [first],
      href,
      onOpen,
      selectable,
    } = this.options;
    const name = first.view(record, row);
    return html`<td class=${first.number ? 'number' : ''}>
      <span class="name">
        ${
          selectable &&
          html`<input
            type="checkbox"
            aria-label=${`Select row ${number(row + 1)}`}
            .checked=${this.selected.has(record.id)}
            @click=${(e) => {
              e.stopPropagation();
              this.toggle(row, e.shiftKey);
            }}
          />`
        }
        ${
          href
            ? html`<a class="clip" href=${href(record)} dir="auto">${name}</a>`
            : onOpen
              ? html`<button class="clip" type="button" dir="auto" @click=${() => onOpen(record)}>
                  ${name}
                </button>`
              : html`<span class="clip" dir="auto">${name}</span>`
        }</span
      >
    </td>`;
  }

  /** @param {MouseEvent} event @param {number} row */
  #click(event, row) {
    if (event.target instanceof Element && event.target.closest('a, button, input')) return;
    this.cursor = row;
    this.#draw();
    this.options.onCursor?.(this.record(row));
  }

  /**
   * Selects or deselects a row, or all rows from the last one that was selected.
   * @param {number} row
   * @param {boolean} range
   */
  toggle(row, range) {
    const record = this.record(row);
    if (!record) return;
    const select = !this.selected.has(record.id);
    const from = range && this.anchor >= 0 ? Math.min(this.anchor, row) : row;
    const to = range && this.anchor >= 0 ? Math.max(this.anchor, row) : row;
    for (let i = from; i <= to; i++) {
      const other = this.record(i);
      if (!other) continue;
      if (select) this.selected.add(other.id);
      else this.selected.delete(other.id);
    }
    this.anchor = row;
    this.options.onSelect?.();
    this.#draw();
  }

  /** @param {boolean} select */
  #selectLoaded(select) {
    this.selected.clear();
    if (select) for (const record of this.records()) this.selected.add(record.id);
    this.options.onSelect?.();
    this.#draw();
  }

  clearSelection() {
    this.selected.clear();
    this.#draw();
  }

  /** Moves the cursor. @param {number} by */
  move(by) {
    if (this.total < 1) return;
    this.cursor = Math.max(0, Math.min(this.total - 1, this.cursor + by));
    this.scrollTo(this.cursor);
    this.options.onCursor?.(this.record(this.cursor));
  }

  /** The keys of a table. @param {(record: R) => void} open @returns {Keys} */
  keys(open) {
    return {
      j: () => this.move(1),
      k: () => this.move(-1),
      ArrowDown: () => this.move(1),
      ArrowUp: () => this.move(-1),
      x: () => this.toggle(this.cursor, false),
      X: () => this.toggle(this.cursor, true),
      Enter: () => {
        const record = this.record(this.cursor);
        if (record) open(record);
      },
    };
  }

  draw() {
    this.#draw();
  }
}
