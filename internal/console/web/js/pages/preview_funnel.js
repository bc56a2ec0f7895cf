// @ts-check
// The counts of a Preview, which add up to what matched.
import { bars } from '../components/chart.js';
import { soft, tabs } from '../components/parts.js';
import { html } from '../dom.js';
import { words } from '../format.js';
import { link } from '../router.js';
import { number, plural, why } from '../text.js';
import { eligible } from './preview_members.js';

/** @typedef {import('./market.js').Model} Model */

/**
 * The counts of a Preview: they add up to what matched.
 * @param {Model} model
 * @param {API['PreviewResult']} result
 */
export function funnel({ preview: p, path, kind, reason }, result) {
  const counts = kind === 'company' ? result.accounts : result.contacts;
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

/** What the research of a Preview costs. @param {Pick<API['Preview'], 'research'>} preview */
const price = ({ research }, cost = research?.question && research.cost) =>
  cost
    ? plural(
        cost.companies ?? 0,
        'Research of {n} company: {credits} credits',
        'Research of {n} companies: {credits} credits',
        { credits: cost.actual_ai_signal_credits ?? cost.estimated_ai_signal_credits ?? 0 },
      )
    : 'Without a question, a Preview costs nothing.';
