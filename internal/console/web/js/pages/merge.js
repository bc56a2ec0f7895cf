// @ts-check
// Records that are the same, side by side: which stays, and whose values.
import { is, list, newKey, request, schemaOf, tags } from '../api.js';
import { nameOf, resolveAll } from '../components/field.js';
import { guessReference, valueName } from '../components/filter.js';
import { button, soft, toast } from '../components/parts.js';
import { html, keyed } from '../dom.js';
import { go, link } from '../router.js';
import { may, update } from '../state.js';
import { plural } from '../text.js';
import { namesOf, valueAt, withTags } from './entities.js';
import { operationWith, undoOf } from './undo.js';

const joined = ['tags', 'notes', 'do_not_contact']; // of which a merge takes all values

/**
 * What the page of the records to merge knows: keep is the one that stays, out has those that are
 * not merged, and from says from which record a field is taken.
 * @typedef {{
 *   kind: Entity,
 *   ids: string[],
 *   found: boolean,
 *   records: Item[],
 *   fields: Field[],
 *   keep: string | undefined,
 *   out: Set<string>,
 *   from: Record<string, string>,
 *   shownAt?: number,
 *   isMerged?: boolean,
 * }} Merge
 */

/**
 * @param {Entity} kind
 * @param {string[]} ids
 * @param {boolean} found whether they were found by the service, not chosen by the user
 * @param {AbortSignal} signal
 * @returns {Promise<Merge>}
 */
export async function readRecords(kind, ids, found, signal) {
  const schema = withTags(await schemaOf(kind.entity), await tags());
  const query = { filters: [is('id', ids.slice(0, 10))] };
  const { data: records } = await list(kind.list, query, { signal });
  const fields = schema.fields.filter(
    (f) =>
      (!f.read_only || joined.includes(f.key) || f.key === 'created_at') &&
      records.some((r) => textOf(f, r)),
  );
  for (const f of fields)
    if (f.type === 'reference')
      await resolveAll(
        f.reference || guessReference(f.key),
        records.flatMap((r) => /** @type {string[]} */ ([valueAt(r, f.key) || []].flat())),
      ).catch(() => {});
  return { kind, ids, found, records, fields, keep: records[0]?.id, out: new Set(), from: {} };
}

/** @param {{id: string}[]} records */
export const idsOf = (records) => records.map((r) => r.id);

/** The value of a field as text. @param {Field} f @param {Item} record */
function textOf(f, record) {
  return [valueAt(record, f.key) ?? []]
    .flat()
    .map((v) => valueName(f, v))
    .join(', ');
}

/** The record whose value of a field stays. @param {Merge} model @param {Field} f */
function sourceOf({ records, keep, out, from }, f) {
  const filled = idsOf(records.filter((r) => !out.has(r.id) && textOf(f, r)));
  return [from[f.key], keep, filled[0]].find((id) => id && filled.includes(id));
}

/**
 * The heading of a record, which decides whether it stays and is merged.
 * @param {Merge} model
 * @param {Item} r
 */
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

/** The values of a field, of which one is chosen. @param {Merge} model @param {Field} f */
function fieldValues(model, f) {
  const { records, out, from } = model;
  const source = sourceOf(model, f);
  const differs =
    !joined.includes(f.key) &&
    f.key !== 'created_at' &&
    new Set(records.map((r) => textOf(f, r)).filter(Boolean)).size > 1;
  return html`<tr>
    <th scope="row">${f.label}</th>
    ${records.map((r) => {
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

/** The records side by side. @param {Merge} model */
export function compare(model) {
  const { kind, records, fields, keep, out } = model;
  // A second click on the button of the group before must not merge this one.
  const shownAt = (model.shownAt ??= (setTimeout(update, 1000), Date.now()));
  const merged = records.filter((r) => r.id !== keep && !out.has(r.id));
  const kept = records.find((r) => r.id === keep);
  const name = kept ? nameOf(kept) : '';
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
            button(action, () => merge(model, merged), 'primary', Date.now() - shownAt < 1000)
          }
        </p>
      </div>`
    }`;
}

/** @param {Merge} model @param {Item[]} merged */
async function merge(model, merged) {
  if (model.isMerged) return;
  const { kind, keep, fields } = model;
  const chosen = fields
    .map((f) => [f.key, sourceOf(model, f)])
    .filter(([key, id]) => key && model.from[key] && id && id !== keep);
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
