// @ts-check
// The palette: pages, actions on the current page, then records.
import { post } from '../api.js';
import { html, keyed } from '../dom.js';
import { words } from '../format.js';
import { go } from '../router.js';
import { sections } from '../pages/entities.js';
import { open } from './dialog.js';

/** @typedef {{group: string, label: string, note?: string, act: () => unknown}} Entry */

/**
 * What is typed and found. Enter acts when it is released, so that nothing behind the palette gets
 * it.
 * @typedef {{text: string, at: number, isPressed: boolean, found: Entry[]}} Palette
 */

/**
 * @param {string[][]} pages labels and paths
 * @param {Action[]} actions what the current page can do
 */
export function showPalette(pages, actions) {
  const targets = [
    ...pages,
    ['People of the catalog', '/catalog/people'],
    ...sections.map(([name, title]) => [`Settings: ${title}`, `/settings/${name}`]),
  ];
  /** @type {Palette} */
  const palette = { text: '', at: 0, isPressed: false, found: [] };
  const search = searcher(palette);
  return open((close, draw) => {
    const entries = entriesOf(palette, targets, actions);
    palette.at = Math.max(0, Math.min(palette.at, entries.length - 1));
    const choose = (/** @type {Entry | undefined} */ entry) => {
      close(null);
      entry?.act();
    };
    return html`<div class="panel">
      ${input(palette, entries, { choose, draw, search: () => search(draw) })}
      <ul id="palette-list" role="listbox" aria-label="Results">
        ${keyed(
          entries,
          (_, i) => i,
          (entry, i) =>
            html` <li
              id=${`palette-${i}`}
              role="option"
              aria-selected=${String(i === palette.at)}
              @click=${() => choose(entry)}
            >
              <span class="grow clip" dir="auto">${entry.label}</span
              ><span class="soft clip" dir="auto">${entry.note}</span
              ><span class="soft small">${entry.group}</span>
            </li>`,
        )}
      </ul>
      ${entries.length === 0 && html`<p class="empty">Nothing matches.</p>`}
    </div>`;
  }, 'palette');
}

/**
 * The pages and actions whose names have the text, and the records that were found.
 * @param {Palette} palette
 * @param {string[][]} targets
 * @param {Action[]} actions
 * @returns {Entry[]}
 */
function entriesOf({ text, found }, targets, actions) {
  const matches = (/** @type {string} */ label) => label.toLowerCase().includes(text.toLowerCase());
  /** @type {Entry[]} */
  const named = [
    ...targets
      .filter(([label]) => matches(label))
      .map(([label, path]) => ({ group: 'Page', label, act: () => go(path) })),
    ...actions.filter((a) => matches(a.label)).map((a) => ({ group: 'Action', ...a })),
  ];
  return named.slice(0, found.length ? 6 : 40).concat(found);
}

/**
 * @param {Palette} palette
 * @param {Entry[]} entries
 * @param {{choose: (entry?: Entry) => void, draw: () => void, search: () => void}} options
 */
const input = (palette, entries, { choose, draw, search }) =>
  html`<input
    type="text"
    role="combobox"
    aria-expanded="true"
    aria-controls="palette-list"
    aria-activedescendant=${entries.length ? `palette-${palette.at}` : null}
    aria-label="Search or jump to"
    placeholder="Search or jump to…"
    autocomplete="off"
    dir="auto"
    @input=${(e) => {
      palette.text = e.target.value;
      palette.at = 0;
      search();
    }}
    @keydown=${(e) => {
      if (!['ArrowDown', 'ArrowUp', 'Enter'].includes(e.key)) return;
      e.preventDefault();
      if (e.key === 'Enter') return void (palette.isPressed = true);
      palette.at += e.key === 'ArrowDown' ? 1 : -1;
      draw();
    }}
    @keyup=${(e) => {
      if (e.key === 'Enter' && palette.isPressed) choose(entries[palette.at]);
    }}
  />`;

/** Returns what finds records by the text. A new search ends the one before. @param {Palette} palette */
function searcher(palette) {
  let abort = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return (/** @type {() => void} */ draw) => {
    abort.abort();
    abort = new AbortController();
    const { signal } = abort;
    clearTimeout(timer);
    if (palette.text.length < 2) {
      palette.found = [];
      return draw();
    }
    timer = setTimeout(async () => {
      const results = await post(
        '/v1/search',
        { search: palette.text.slice(0, 200) },
        { signal },
      ).catch(() => null);
      if (!results || signal.aborted) return;
      palette.found = results.flatMap(({ entity, records }) =>
        records.map((r) => ({
          group: words(entity.replace('sequence-', '')),
          label: r.name,
          note: r.detail,
          act: () => go(`/${entity.split('-').at(-1)}/${r.id}`),
        })),
      );
      draw();
    }, 60);
    draw();
  };
}
