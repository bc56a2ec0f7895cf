// @ts-check
// How many companies a market has, and the Preview that is prepared of it.
import { list, newKey, post } from '../api.js';
import { bars } from '../components/chart.js';
import { confirm } from '../components/dialog.js';
import { sentence } from '../components/filter.js';
import { soft, toast } from '../components/parts.js';
import { html } from '../dom.js';
import { listOf } from '../format.js';
import { encode, selection } from '../query.js';
import { go, setSearch } from '../router.js';
import { update } from '../state.js';
import { number, plural } from '../text.js';

/** @typedef {import('./market.js').Market} Market */

/** How many companies each rule leaves. @param {Market} model */
export const countsOf = (model) =>
  html`${
    !model.view.rules.length &&
    !model.view.where &&
    !model.view.q &&
    soft('Describe companies first. Counts appear as you type.')
  }
  ${bars(model.funnel)}${
    model.estimate?.truncated &&
    html`<p class="notice warn">${firstOf(model.estimate, model.estimate.companies)}</p>`
  }${
    model.funnel[0]?.value === 0 &&
    html`<p class="notice warn">
      The catalog is empty. The operator fills it with: prospector catalog import.
    </p>`
  }
  ${
    model.balance.accounts.remaining !== null &&
    html`<p class="soft">${number(model.balance.accounts.remaining)} accounts left this month</p>`
  }`;

/** The question that is asked. @param {Market} model */
export const signalOf = (model) => model.signals.find((f) => f.id === model.form.values.ask);

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @param {Market} model */
export function changed(model) {
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

/** The request of a Preview. @param {Market} model */
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

/** Counts what each rule and all before it leave. @param {Market} model */
export async function count(model) {
  const run = ++model.run;
  const { q } = model.view;
  const rules = selection(model.view).filters || [];
  const levels = [
    { label: 'Catalog', body: {} },
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

/** @param {Market} model */
export async function prepare(model) {
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
      text: model.estimate && firstOf(model.estimate, model.estimate.companies),
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

/**
 * How many companies a Preview takes, of those that match.
 * @param {{truncated: boolean, available_total: number | null}} part
 * @param {number} taken
 */
export function firstOf({ truncated, available_total }, taken) {
  const all = available_total ?? 0;
  return truncated
    ? `A Preview takes the first ${number(taken)} of ${number(all)} companies that match.`
    : plural(all, '{n} company matches.', '{n} companies match.');
}
