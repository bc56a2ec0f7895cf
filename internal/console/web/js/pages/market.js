// @ts-check
// The market: describe it, see every exclusion, take the rest.
import { get, getPage, newKey, schemaOf } from '../api.js';
import { FormState } from '../components/dialog.js';
import { marketText } from '../components/filter.js';
import { button, heading, section, selected, soft } from '../components/parts.js';
import { html } from '../dom.js';
import { followPreview } from '../foot.js';
import { dateTime } from '../format.js';
import { decode } from '../query.js';
import { link } from '../router.js';
import { number, plural } from '../text.js';
import { changed, count, countsOf, firstOf, prepare } from './market_count.js';
import { companiesOf, peopleOf, questionOf } from './market_rules.js';
import { funnel } from './preview_funnel.js';
import { deletePreview, importOf, previewNotices, readImport, take } from './preview_import.js';
import { exclude, member, members, peek } from './preview_members.js';

/** @typedef {import('./preview_members.js').Member} Member */

const other = ['titles', 'not', 'ask', 'answer'];

/**
 * What the page of a new market knows. funnel is how many companies each rule leaves, key that of
 * the request of its Preview.
 * @typedef {{
 *   view: View,
 *   titles: string,
 *   not: string,
 *   form: FormState,
 *   schema: Schema,
 *   balance: API['Balance'],
 *   signals: API['Field'][],
 *   funnel: {label: string, value: number}[],
 *   estimate: API['Estimate'] | null,
 *   run: number,
 *   key: string,
 * }} Market
 */

/** @type {PageModule<Market>} */
export const marketPage = {
  title: () => 'New market',
  async load({ search }, signal) {
    const [schema, balance, fields] = await Promise.all([
      schemaOf('companies'),
      get('/v1/tam/balance', { signal }),
      getPage('/v1/fields', { signal }),
    ]);
    /** @type {Market} */
    const model = {
      view: decode(search, other),
      titles: search.get('titles') || '',
      not: search.get('not') || '',
      schema,
      balance,
      signals: fields.data.filter((f) => f.ai),
      funnel: [],
      estimate: null,
      run: 0,
      key: newKey(),
      form: new FormState({ ask: search.get('ask'), answer: search.get('answer') }),
    };
    model.form.draw = () => changed(model);
    void count(model);
    return model;
  },
  keys: (model) => ({ 'Ctrl Enter': () => void prepare(model) }),
  view: (model) =>
    html`<div class="page">
      ${heading({
        title: 'New market',
        note:
          model.estimate && model.funnel.length > 1
            ? plural(model.estimate.companies, '{n} company', '{n} companies') +
              (model.form.values.ask
                ? ` · research of at most ${number(model.estimate.companies)}`
                : '')
            : '\u00a0',
        needs: 'write',
        actions: button('Prepare Preview', () => prepare(model), 'primary'),
      })}
      <div class="two">
        <div class="section">
          ${section('Companies', companiesOf(model))} ${section('People', peopleOf(model))}
          ${section(
            'Question',
            model.signals.length === 0
              ? soft(
                  html`No AI-filled field of accounts asks a question.
                    <a href=${link('/settings/fields')}>Fields</a>`,
                )
              : questionOf(model),
          )}
        </div>
        ${section('Funnel', countsOf(model))}
      </div>
    </div>`,
};

/**
 * What the page of a Preview knows. kind, reason and open are those of the address: which members
 * the table has, and which of them is shown beside it.
 * @typedef {{
 *   path: `/v1/tam/preview/${string}`,
 *   preview: API['PreviewAnswer'],
 *   schema: Schema,
 *   kind: string,
 *   reason: string,
 *   open: string,
 *   table: import('../components/table.js').Table<Member> | null,
 *   imported: (API['Import'] & {result?: string}) | null,
 * }} Model
 */

/** @type {PageModule<Model>} */
export const previewPage = {
  title: () => 'Preview',
  async load({ args, search, row }, signal) {
    const path = /** @type {const} */ (`/v1/tam/preview/${args.id}`);
    const [preview, schema] = await Promise.all([
      get(`${path}?page_size=1`, { signal }),
      schemaOf('companies'),
    ]);
    if (preview.status === 'PREPARING') followPreview(args.id);
    /** @type {Model} */
    const model = {
      path,
      preview,
      schema,
      kind: search.get('kind') || 'company',
      reason: search.get('reason') || '',
      open: search.get('open') || '',
      table: null,
      imported: await readImport(preview, signal),
    };
    if (preview.status === 'READY') {
      model.table = members(model);
      void model.table.refresh({ first: row }).catch(() => {});
    }
    return model;
  },
  close: (model) => model.table?.close(),
  keys(model) {
    const { table } = model;
    if (!table) return {};
    return {
      ...table.keys((m) => peek(model, m)),
      o: () => peek(model, model.open ? null : table.record(table.cursor)),
      Escape: () => peek(model),
      Delete: () => void exclude(model, table),
    };
  },
  view: (model) => {
    const { preview: p, table } = model;
    const ready = p.status === 'READY' ? p.result : null;
    return html`<div class="page list-page">
      ${heading({
        up: ['/previews', 'Previews'],
        title: html`Preview <span class="soft">${dateTime(p.created_at)}</span>`,
        note: marketText(p, model.schema.fields),
        needs: 'write',
        actions: html` ${
          p.status !== 'PREPARING' && button('Delete…', () => deletePreview(model), 'danger')
        }
        ${
          ready &&
          !p.operation_id &&
          button(`${importOf(ready)}…`, () => take(model, ready), 'primary')
        }`,
      })}
      ${previewNotices(model)}
      ${
        ready &&
        p.truncated &&
        html`<p class="notice warn">${firstOf(p, ready.accounts.matched)}</p>`
      }${ready && funnel(model, ready)}${
        table && html`<div class="beside">${table.element}${member(model, table)}</div>`
      }
      ${
        table &&
        selected({ table }, (n) =>
          button(
            plural(n, 'Exclude {n} company…', 'Exclude {n} companies…'),
            () => exclude(model, table),
            'danger',
          ),
        )
      }
    </div>`;
  },
};
