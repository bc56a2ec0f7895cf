// @ts-check
// What becomes of a Preview: its Import, another attempt, its end.
import { get, newKey, post, remove } from '../api.js';
import { confirm, form } from '../components/dialog.js';
import { field } from '../components/field.js';
import { button } from '../components/parts.js';
import { html } from '../dom.js';
import { followImport, importResult } from '../foot.js';
import { encode, madeBy, partsOf } from '../query.js';
import { go, link, reload } from '../router.js';
import { may } from '../state.js';
import { number, plural, why } from '../text.js';

/** @typedef {import('./market.js').Model} Model */

/** What an Import of a Preview brings. @param {API['PreviewResult']} result */
export const importOf = ({ accounts, contacts }) =>
  accounts.new
    ? plural(accounts.new, 'Import {n} new company', 'Import {n} new companies')
    : contacts.new
      ? plural(contacts.new, 'Import {n} new person', 'Import {n} new people')
      : 'Import';

/**
 * Reads the Import of a Preview, or follows it until it has ended.
 * @param {API['PreviewAnswer']} preview
 * @param {AbortSignal} signal
 */
export async function readImport({ operation_id, preview_id }, signal) {
  if (!operation_id) return null;
  const found = await get(`/v1/tam/imports/${operation_id}`, { signal });
  if (found.finished_at) return { ...found, result: importResult(found) };
  followImport(operation_id, preview_id);
  return found;
}

/** What keeps a Preview from being used, and what became of its Import. @param {Model} model */
export const previewNotices = ({ preview: p, imported }) =>
  html`${p.status === 'PREPARING' && html`<p class="notice">The Preview is being prepared.</p>`}
  ${
    ['FAILED', 'CANCELLED'].includes(p.status) &&
    html`<p class="notice bad">
      <span class="grow"
        >${
          p.failure_reason
            ? `The Preview failed: ${why(p.failure_reason)}.`
            : 'The Preview was cancelled.'
        }</span
      >
      ${
        may('write') &&
        html`${button('Try again', () => again(p.request))}<a
            class="button"
            href=${link(`/market${marketOf(p.request)}`)}
            >Change the market</a
          >`
      }
    </p>`
  }
  ${
    imported &&
    html`<p class=${imported.status === 'failed' ? 'notice bad' : 'notice good'}>
      <span class="grow">${imported.result || 'This Preview is being imported.'}</span>${
        /** @type {const} */ (['accounts', 'contacts']).map(
          (name) =>
            imported.finished_at &&
            imported[name].created > 0 &&
            html`<a class="button" href=${link(`/${name}${madeBy('tam_import', imported)}`)}
              >Show ${name}</a
            >`,
        )
      }
    </p>`
  }`;

/** Prepares the same market again. @param {API['PreviewRequest']} market */
async function again(market) {
  const request_id = newKey();
  const made = await post('/v1/tam/preview', { ...market, request_id }, { key: request_id });
  await go(`/previews/${made.preview_id}`);
}

/**
 * The address of a market, as far as the page of markets can show it.
 * @param {API['PreviewRequest']} r the request of a Preview
 */
function marketOf(r) {
  return encode(
    { q: r.company_filters.searching_rule?.value, ...partsOf(r.company_filters.filtering_rules) },
    {
      titles: r.contact_filters?.include_keywords?.join(', '),
      not: r.contact_filters?.exclude_keywords?.join(', '),
      ask: r.qualifier_signal_id || undefined,
      answer: r.qualifier_signal_id ? String(r.qualifier_rule?.value ?? '') : undefined,
    },
  );
}

/** @param {Model} model */
export async function deletePreview(model) {
  if (
    !(await confirm({
      text: 'Accounts and contacts that it brought stay.',
      action: 'Delete the Preview',
      danger: true,
    }))
  )
    return;
  await remove(model.path);
  await go('/previews');
}

/**
 * Asks how much of a Preview to import: no more than is left this month.
 * @param {Model} model
 * @param {API['PreviewResult']} result
 */
export async function take(model, result) {
  const { accounts, contacts, exceeded } = await get(
    `/v1/tam/balance?preview_id=${model.preview.preview_id}`,
  );
  const most = (/** @type {API['BalanceCounter']} */ { over_by, remaining }) =>
    (over_by ?? 0) > 0 ? remaining : null;
  if (
    await form(
      {
        title: `${importOf(result)}?`,
        action: 'Import the Preview',
        body: (state) =>
          html`<p>
              ${number(accounts.would_add ?? 0)} accounts and ${number(contacts.would_add ?? 0)}
              contacts are new. ${exceeded && 'That is more than is left this month.'}
            </p>
            <div class="columns">
              ${field(state, {
                name: 'max_accounts',
                label: 'New accounts, at most',
                type: 'number',
              })}${field(state, {
                name: 'max_contacts',
                label: 'New contacts, at most',
                type: 'number',
              })}
            </div>`,
        submit: (state) => post(`${model.path}/import`, state.values, { key: state.key }),
      },
      { max_accounts: most(accounts), max_contacts: most(contacts) },
    )
  )
    await reload();
}
