// @ts-check
// The market: describe it, see every exclusion, take the rest.
import { get, getPage, list, newKey, post, remove, request, schemaOf } from '../api.js';
import { bars } from '../components/chart.js';
import { confirm, form, FormState } from '../components/dialog.js';
import { field, nameOf, optionsOf, yesNo } from '../components/field.js';
import { filterBar, marketText, sentence } from '../components/filter.js';
import {
  beside,
  button,
  empty,
  heading,
  pairs,
  section,
  selected,
  soft,
  status,
  tabs,
  toast,
} from '../components/parts.js';
import { column, Table } from '../components/table.js';
import { html } from '../dom.js';
import { followImport, followPreview, importResult } from '../foot.js';
import { dateTime, listOf, words } from '../format.js';
import { decode, encode, madeBy, partsOf, selection } from '../query.js';
import { go, link, reload, setSearch } from '../router.js';
import { may, update } from '../state.js';
import { number, plural, why } from '../text.js';

const other = ['titles', 'not', 'ask', 'answer'];

/** Which companies. @param {Item} model */
const companiesOf = (model) =>
  html`${filterBar({
    view: () => model.view,
    fields: model.schema.fields,
    onChange: (rules, where) => {
      Object.assign(model.view, { rules, where });
      changed(model);
    },
  })}
  ${input('market-q', 'Words in the description', model.view.q, (v) => {
    model.view.q = v;
    changed(model);
  })}`;

/** Which people. @param {Item} model */
const peopleOf = (model) =>
  html`${input(
    'market-titles',
    'Titles with any of these words',
    model.titles,
    (v) => {
      model.titles = v;
      changed(model);
    },
    'chief, vp',
  )}
  ${input(
    'market-not',
    'but none of these',
    model.not,
    (v) => {
      model.not = v;
      changed(model);
    },
    'assistant',
  )}`;

/** What is asked about each company. @param {Item} model */
const questionOf = (model) =>
  html`<div class="columns">
    ${field(model.form, {
      name: 'ask',
      label: 'To be answered for each company',
      options: model.signals.map((/** @type {API['Field']} */ f) => ({
        value: f.id,
        label: f.ai?.question ?? '',
      })),
    })}
    ${
      model.form.values.ask &&
      field(model.form, {
        name: 'answer',
        label: 'The answer must be',
        ...answerOf(model),
      })
    }
  </div>`;

/** How many companies each rule leaves. @param {Item} model */
const countsOf = (model) =>
  html`${
    !model.view.rules.length &&
    !model.view.where &&
    !model.view.q &&
    soft('Describe companies first. Counts appear as you type.')
  }
  ${bars(model.funnel)}${
    model.estimate?.truncated && html`<p class="notice warn">${firstOf(model.estimate)}</p>`
  }${
    model.funnel[0]?.value === 0 &&
    html`<p class="notice warn">
      The catalogue is empty. The operator fills it with: prospector catalog import.
    </p>`
  }
  ${
    model.balance.accounts.remaining !== null &&
    html`<p class="soft">${number(model.balance.accounts.remaining)} accounts left this month</p>`
  }`;

/** @type {PageModule} */
export const marketPage = {
  title: () => 'New market',
  async load({ search }, signal) {
    const [schema, balance, fields] = await Promise.all([
      schemaOf('companies'),
      get('/v1/tam/balance', { signal }),
      getPage('/v1/fields', { signal }),
    ]);
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
      key: '',
      form: new FormState({ ask: search.get('ask'), answer: search.get('answer') }),
    };
    model.form.draw = () => changed(model);
    model.key = newKey();
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
        actions: may('write') && button('Prepare Preview', () => prepare(model), 'primary'),
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
 * @param {string} id
 * @param {string} label
 * @param {string} value
 * @param {(value: string) => void} set
 * @param {string} [placeholder]
 */
const input = (id, label, value, set, placeholder) =>
  html`<div class="field">
    <label for=${id}>${label}</label
    ><input
      id=${id}
      type="text"
      dir="auto"
      placeholder=${placeholder}
      .value=${value}
      @input=${(e) => set(e.target.value)}
    />
  </div>`;

/** The question that is asked. @param {Item} model @returns {API['Field'] | undefined} */
const signalOf = (model) =>
  model.signals.find((/** @type {API['Field']} */ f) => f.id === model.form.values.ask);

/** The input of the answer. @param {Item} model */
function answerOf(model) {
  const signal = signalOf(model);
  if (signal?.data_type === 'boolean') return { required: true, options: yesNo() };
  return signal?.allowed_values.length
    ? { required: true, options: optionsOf(signal.allowed_values) }
    : { type: signal?.data_type };
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @param {Item} model */
function changed(model) {
  model.key = newKey(); // another market is another Preview
  const { ask, answer } = model.form.values;
  setSearch(
    encode(
      { ...model.view, page: 1 },
      { titles: model.titles, not: model.not, ask, answer: ask && answer },
    ),
  );
  clearTimeout(timer);
  timer = setTimeout(() => void count(model), 250);
  update();
}

/** The request of a Preview. @param {any} model */
function requestOf(model) {
  const { ask, answer } = model.form.values;
  const { filters } = selection(model.view);
  const people = { include_keywords: listOf(model.titles), exclude_keywords: listOf(model.not) };
  return {
    request_id: model.key,
    company_filters: {
      ...(filters ? { filtering_rules: { filters } } : {}),
      ...(model.view.q ? { searching_rule: { value: model.view.q } } : {}),
    },
    ...(ask
      ? {
          qualifier_signal_id: ask,
          qualifier_rule: {
            operator: signalOf(model)?.data_type === 'multi_select' ? 'contains' : 'equals',
            value: answer === 'true' ? true : answer === 'false' ? false : answer,
          },
        }
      : {}),
    ...(people.include_keywords.length + people.exclude_keywords.length
      ? { contact_filters: people, exclude_companies_without_titles: true }
      : {}),
  };
}

/** Counts what each rule and all before it leave. @param {Item} model */
async function count(model) {
  const run = ++model.run;
  const { q } = model.view;
  const rules = selection(model.view).filters || [];
  const levels = [
    { label: 'Catalogue', body: {} },
    ...rules.map((rule, i) => ({
      label: sentence(rule, model.schema.fields),
      body: { filters: rules.slice(0, i + 1) },
    })),
    ...(q ? [{ label: `“${q}”`, body: { filters: rules, search: q } }] : []),
  ];
  const estimate = post('/v1/tam/preview/estimate', requestOf(model)).catch(() => null);
  const pages = await Promise.all(
    levels.map(({ body }) => list('/v1/companies/list', { ...body, page_size: 1 })),
  ).catch((error) => toast(error.message, { bad: true }));
  if (run !== model.run || !pages) return;
  model.funnel = pages.map((page, i) => ({
    label: levels[i].label,
    value: page.pagination.total_count,
  }));
  model.estimate = await estimate;
  update();
}

/** @param {Item} model */
async function prepare(model) {
  const { ask, answer } = model.form.values;
  if (ask && (answer ?? '') === '') {
    model.form.errors.answer = 'Choose the answer that a company must have.';
    return update();
  }
  const { request_id, company_filters, ...others } = requestOf(model);
  if (
    ![company_filters, others].some((part) => Object.keys(part).length) &&
    !(await confirm({
      title: 'Prepare a Preview of all companies?',
      text: model.estimate && firstOf(model.estimate),
      action: 'Prepare Preview',
    }))
  )
    return;
  try {
    const made = await post('/v1/tam/preview', requestOf(model), { key: model.key });
    await go(`/previews/${made.preview_id}`);
  } catch (error) {
    toast(/** @type {Error} */ (error).message, { bad: true });
  }
}

/** How many companies a Preview has, of those that match. @param {any} part */
const firstOf = ({ truncated, available_total: all, companies, result }) =>
  truncated
    ? `A Preview takes the first ${number(companies ?? result.accounts.matched)} of ` +
      `${number(all)} companies that match.`
    : plural(all, '{n} company matches.', '{n} companies match.');

/** What an Import of a Preview brings. @param {{result: API['PreviewResult']}} preview */
const importOf = ({ result: { accounts, contacts } }) =>
  accounts.new
    ? plural(accounts.new, 'Import {n} new company', 'Import {n} new companies')
    : contacts.new
      ? plural(contacts.new, 'Import {n} new person', 'Import {n} new people')
      : 'Import';

/** @type {PageModule} */
export const previewPage = {
  title: () => 'Preview',
  async load({ args, search, row }, signal) {
    const path = `/v1/tam/preview/${args.id}`;
    const [preview, schema] = await Promise.all([
      get(`${path}?page_size=1`, { signal }),
      schemaOf('companies'),
    ]);
    const model = {
      path,
      preview,
      schema,
      kind: search.get('kind') || 'company',
      reason: search.get('reason') || '',
      open: search.get('open') || '',
      table: /** @type {any} */ (null),
      imported: /** @type {(API['Import'] & {result?: string}) | null} */ (null),
    };
    if (preview.status === 'PREPARING') followPreview(args.id);
    if (preview.operation_id) {
      model.imported = await get(`/v1/tam/imports/${preview.operation_id}`, { signal });
      if (model.imported.finished_at) model.imported.result = importResult(model.imported);
      else followImport(preview.operation_id, args.id);
    }
    if (preview.status === 'READY') {
      model.table = members(model);
      void model.table.refresh({ first: row }).catch(() => {});
    }
    return model;
  },
  close: (model) => model.table?.close(),
  keys: (model) =>
    model.table
      ? {
          ...model.table.keys((/** @type {API['Member']} */ m) => peek(model, m)),
          o: () => peek(model, !model.open && model.table.record(model.table.cursor)),
          Escape: () => peek(model),
          Delete: () => void exclude(model),
        }
      : {},
  view: (model) => {
    const { preview: p } = model;
    const isReady = p.status === 'READY';
    return html`<div class="page list-page">
      ${heading({
        up: ['/previews', 'Previews'],
        title: html`Preview <span class="soft">${dateTime(p.created_at)}</span>`,
        note: marketText(p, model.schema.fields),
        actions:
          may('write') &&
          html` ${
            p.status !== 'PREPARING' && button('Delete…', () => deletePreview(model), 'danger')
          }
          ${isReady && !p.operation_id && button(`${importOf(p)}…`, () => take(model), 'primary')}`,
      })}
      ${previewNotices(model)}
      ${
        p.truncated && isReady && html`<p class="notice warn">${firstOf(p)}</p>`
      }${isReady && funnel(model)}${
        isReady && html`<div class="beside">${model.table.element}${member(model)}</div>`
      }
      ${
        isReady &&
        selected(model, (n) =>
          button(
            plural(n, 'Exclude {n} company…', 'Exclude {n} companies…'),
            () => exclude(model),
            'danger',
          ),
        )
      }
    </div>`;
  },
};

/** What keeps a Preview from being used, and what became of its Import. @param {Item} model */
const previewNotices = ({ preview: p, imported }) =>
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
      <span class="grow">${imported.result || 'This Preview is being imported.'}</span>${[
        'accounts',
        'contacts',
      ].map(
        (name) =>
          imported?.finished_at &&
          imported[name].created > 0 &&
          html`<a class="button" href=${link(`/${name}${madeBy('tam_import', imported)}`)}
            >Show ${name}</a
          >`,
      )}
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

/** @param {Item} model */
async function deletePreview(model) {
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

/** Shows the members that an Import would take, instead of those that a reason excludes. */
const eligible = 'ELIGIBLE';

/** The counts of a Preview: they add up to what matched. @param {any} model */
function funnel({ preview: p, path, kind, reason }) {
  const counts = kind === 'company' ? p.result.accounts : p.result.contacts;
  const at = link(`/previews/${path.split('/').at(-1)}?kind=${kind}`);
  return html`<section class="section">
    ${tabs(
      ['company', 'person'].map((k) => [
        k === 'company' ? 'Companies' : 'People',
        `/previews/${p.preview_id}?kind=${k}`,
        k === kind,
      ]),
    )}
    ${bars([
      { label: 'Matched', value: counts.matched },
      ...Object.entries(counts.exclusions)
        .filter(([, n]) => n > 0)
        .map(([excluded, n]) => ({
          label: words(why(excluded)),
          value: n,
          text: `−${number(n)}`,
          className: 'fill-soft',
          action: html`<a href=${`${at}&reason=${excluded}`}>Show</a>`,
        })),
      ...(counts.duplicate_source_rows
        ? [
            {
              label: 'Duplicate rows',
              value: counts.duplicate_source_rows,
              text: `−${number(counts.duplicate_source_rows)}`,
              className: 'fill-soft',
            },
          ]
        : []),
      {
        label: 'Eligible',
        value: counts.eligible,
        className: 'fill-good',
        action: html`<a href=${`${at}&reason=${eligible}`}>Show</a>
          ${soft(`${number(counts.new)} new`)}`,
      },
    ])}
    ${kind === 'company' && html`<p class="soft">${price(p)}</p>`}
    ${
      reason &&
      html`<p class="chips">
        <span class="chip on"
          >${reason === eligible ? 'Eligible' : words(why(reason))}
          <a href=${at} aria-label="Show all">×</a></span
        >
      </p>`
    }
  </section>`;
}

/** What the research of a Preview costs. @param {API['Preview']} preview */
const price = ({ research }, cost = research?.question && research.cost) =>
  cost
    ? plural(
        cost.companies ?? 0,
        'Research of {n} company: {credits} credits',
        'Research of {n} companies: {credits} credits',
        { credits: cost.actual_ai_signal_credits ?? cost.estimated_ai_signal_credits ?? 0 },
      )
    : 'Without a question, a Preview costs nothing.';

/** @param {API['Member']} m */
const reasonOf = (m) =>
  m.exclusion_reason ||
  m.preparation_exclusion_reason ||
  (m.is_duplicate_source_row ? 'DUPLICATE_ROW' : 'NOT_SELECTED');

/** @param {API['Member']} m */
const evidenceOf = ({ qualification: q }) => q?.evidence || words(why(q?.reason));

/** @param {Item} model */
function members(model) {
  return new Table({
    label: 'Members',
    selectable: may('write') && model.kind === 'company',
    onSelect: update,
    fetch: async (page, size, signal) => {
      const q = new URLSearchParams({
        kind: model.kind,
        current_page: String(page),
        page_size: String(size),
        ...(model.reason === eligible
          ? { selected: 'true' }
          : model.reason
            ? { reason: model.reason }
            : {}),
      });
      const { body } = await request('GET', `${model.path}/members?${q}`, undefined, { signal });
      return {
        data: body.data.members.map((/** @type {API['Member']} */ m) => ({
          ...m,
          id: m.member_id,
        })),
        pagination: body.data.pagination_meta,
        meta: body.meta,
      };
    },
    columns: [
      column('name', 'Name', 220, (m) => nameOf(m.data)),
      column(
        'what',
        model.kind === 'company' ? 'Industry' : 'Title',
        200,
        (m) => m.data.industry || m.data.title || '',
      ),
      column('state', 'Status', 310, (m) =>
        m.selected
          ? status('ready', m.existing ? 'Exists already' : 'Eligible')
          : status('open', words(why(reasonOf(m)))),
      ),
      column('why', 'Evidence', 380, (m) => evidenceOf(m)),
    ],
    empty: () => empty('Nothing is here.'),
    onOpen: (m) => peek(model, m),
    onCursor: (m) => {
      if (model.open) peek(model, m);
    },
    onLoad: update,
  });
}

/** Shows a member beside the others, or none. @param {Item} model @param {any} [m] */
function peek(model, m) {
  model.open = m?.id || '';
  setSearch(encode({}, { kind: model.kind, reason: model.reason, open: model.open }));
  update();
}

/**
 * Why the member of the address is in or out. It must be among the rows that are loaded.
 * @param {Item} model
 */
function member(model) {
  const m =
    model.open && model.table.records().find((/** @type {Item} */ row) => row.id === model.open);
  if (!m) return null;
  const facts = Object.entries(m.data)
    .filter(([key, value]) => value && typeof value !== 'object' && !/(^|_)id$/.test(key))
    .map(
      ([key, value]) =>
        /** @type {[string, string]} */ ([
          words(key),
          typeof value === 'number' && !key.endsWith('year') ? number(value) : String(value),
        ]),
    );
  return beside(
    nameOf(m.data),
    null,
    () => peek(model),
    pairs([
      ['Status', m.selected ? 'Eligible' : words(why(reasonOf(m)))],
      ['Evidence', evidenceOf(m) || '—'],
      ...facts,
    ]),
  );
}

/** @param {Item} model */
async function exclude(model) {
  const ids = [...model.table.selected];
  if (ids.length === 0) return;
  const chosen = [...model.table.blocks.values()]
    .flat()
    .filter((m) => ids.includes(m.id))
    .map((m) => m.source_id);
  if (
    await confirm({
      text: 'This cannot be undone.',
      action: plural(ids.length, 'Exclude {n} company', 'Exclude {n} companies'),
      danger: true,
      count: ids.length,
    })
  ) {
    await post(`${model.path}/exclude`, { company_ids: chosen });
    await reload();
  }
}

/** Asks how much of a Preview to import: no more than is left this month. @param {Item} model */
async function take(model) {
  const { accounts, contacts, exceeded } = await get(
    `/v1/tam/balance?preview_id=${model.preview.preview_id}`,
  );
  const most = (/** @type {API['BalanceCounter']} */ { over_by, remaining }) =>
    (over_by ?? 0) > 0 ? remaining : null;
  if (
    await form(
      {
        title: `${importOf(model.preview)}?`,
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
