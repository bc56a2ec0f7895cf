// @ts-check
// The menus of a list: saved views and columns; and its views that are often used.
import { menu, soft, tabs } from '../components/parts.js';
import { html } from '../dom.js';
import { startOfDay, words } from '../format.js';
import { encode, partsOf } from '../query.js';
import { link, setSearch } from '../router.js';
import { may } from '../state.js';
import { deleteView, saveView } from './saved_views.js';

/** @typedef {import('./list_model.js').ListModel} ListModel */

/**
 * A way to save this view, which stays in its place while the saved views load, and those.
 * @param {ListModel} model
 */
export const viewItems = (model) =>
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

/** @param {API['View']} v @returns {Partial<View>} */
function viewOf(v) {
  return {
    q: v.searching_rule?.value || '',
    ...partsOf(v.filtering_rules),
    sort: v.sort || '',
    cols: v.columns || [],
  };
}

/** @param {ListModel} model */
export function quickViews({ kind }) {
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

/** @param {ListModel} model */
export function columnsMenu(model) {
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
