// @ts-check
// The fields of a record, each of which is changed in its place.
import { control, explain, optionsOf, yesNo } from '../components/field.js';
import { allowedValues, guessReference } from '../components/filter.js';
import { soft } from '../components/parts.js';
import { html } from '../dom.js';
import { fromInput, listOf } from '../format.js';
import { may, update } from '../state.js';
import { tagsFor, valueAt } from './entities.js';
import { edit, save } from './record_save.js';
import { display, isTexts, linkTo, textsOf } from './record_values.js';

/** @typedef {import('./record.js').Model} Model */

/** The fields, first those that can be changed. @param {Schema} schema */
export const ordered = ({ fields }) =>
  fields.filter((f) => f.key !== 'id').sort((a, b) => Number(a.read_only) - Number(b.read_only));

/** @param {Model} model @param {Field} f */
export function fieldRow(model, f) {
  const value = valueAt(model.record, f.key);
  const canEdit = may('write') && !f.read_only && (f.type !== 'multi' || isTexts(f.key));
  if (f.key === 'tags')
    return html`<dt>${f.label}</dt>
      <dd class="chips">${tagChips(model, textsOf(value))}</dd>`;
  const href = linkTo(f, value);
  if (href && model.editing !== f.key) {
    return html`<dt>${f.label}</dt>
      <dd class="linked">
        <a
          class="grow wrap"
          dir="auto"
          href=${href}
          target=${href.startsWith('http') ? '_blank' : null}
          >${display(f, value)}</a
        >
        ${
          canEdit &&
          html`<button
            class="button plain"
            type="button"
            aria-label=${`Change: ${f.label}`}
            @click=${() => edit(model, f.key, value)}
          >
            ✎
          </button>`
        }
      </dd>`;
  }
  return html`<dt>${f.label}</dt>
    <dd>
      ${
        model.editing === f.key
          ? editor(model, f, value)
          : canEdit
            ? html`<button
                class="inline-edit"
                type="button"
                dir="auto"
                @click=${() => edit(model, f.key, value)}
              >
                <span class="wrap">${display(f, value) || soft('—')}</span>
              </button>`
            : html`<span class="inline-edit wrap" dir="auto"
                >${display(f, value) || soft('—')}</span
              >`
      }
    </dd>`;
}

/** The tags, each removable, and a choice of others. @param {Model} model @param {string[]} ids */
function tagChips(model, ids) {
  const others = tagsFor(model.kind.entity, model.tags).filter((tag) => !ids.includes(tag.id));
  return html`${ids
    .map((id) => model.tags.find((tag) => tag.id === id))
    .filter((tag) => tag !== undefined)
    .map(
      (tag) =>
        html`<span class="chip"
          ><span class=${`tag ${tag.color}`}>${tag.name}</span> ${
            may('write') &&
            html`<button
              type="button"
              aria-label=${`Remove the tag ${tag.name}`}
              @click=${() =>
                save(
                  model,
                  'tags',
                  ids.filter((id) => id !== tag.id),
                )}
            >
              ×
            </button>`
          }</span
        >`,
    )}
  ${
    may('write') && others.length > 0
      ? html`<select
          class="small-select"
          aria-label="Add a tag"
          @change=${(e) => e.target.value && save(model, 'tags', [...ids, e.target.value])}
        >
          <option value="">+ Tag</option>
          ${others.map((tag) => html`<option value=${tag.id}>${tag.name}</option>`)}
        </select>`
      : !ids.length && soft('—')
  }`;
}

/**
 * @param {Model} model
 * @param {Field} f
 * @param {unknown} before
 */
function editor(model, f, before) {
  const allowed = allowedValues(f);
  const finish = () => {
    const typed = model.state.values[f.key];
    const value = f.type === 'datetime' && typed ? fromInput(typed) : typed;
    if (model.editing !== f.key) return;
    if (isTexts(f.key)) return void save(model, f.key, listOf(typed));
    if (value === before || (value ?? null) === (before ?? null)) {
      model.editing = '';
      update();
    } else void save(model, f.key, value);
  };
  return html`<form
    @submit=${(e) => {
      e.preventDefault();
      finish();
    }}
    @focusout=${(e) => {
      if (!e.currentTarget.contains(e.relatedTarget)) finish();
    }}
    @keydown=${(e) => {
      if (e.key === 'Escape') {
        model.editing = '';
        update();
      }
    }}
  >
    ${control({
      id: 'inline',
      name: f.key,
      label: f.label,
      type: isTexts(f.key) ? 'text' : f.type,
      value:
        f.type === 'boolean' ? String(model.state.values[f.key] ?? '') : model.state.values[f.key],
      error: model.state.errors[f.key],
      set: (v) => model.state.set(f.key, v),
      options: f.type === 'boolean' ? yesNo() : allowed.length ? optionsOf(allowed) : undefined,
      reference: f.type === 'reference' ? f.reference || guessReference(f.key) : null,
      rows: f.key === 'notes' || f.key === 'description' ? 5 : undefined,
    })}
    ${
      model.state.errors[f.key] &&
      html`<span class="error"
        >${explain(f.type, model.state.values[f.key], model.state.errors[f.key])}</span
      >`
    }
  </form>`;
}
