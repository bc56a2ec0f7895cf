// @ts-check
// Charts with their values printed. Each mark can link to its records.
import { html, svg } from '../dom.js';
import { number } from '../text.js';

/**
 * Horizontal bars: a funnel, or values side by side.
 * @param {{
 *   label: unknown,
 *   value: number,
 *   text?: string,
 *   className?: string,
 *   action?: unknown,
 * }[]} rows
 * @param {number} [most]
 */
export function bars(rows, most = Math.max(1, ...rows.map((row) => Math.abs(row.value)))) {
  return html`<ul class="bars">
    ${rows.map(
      (row) =>
        html`<li>
          <span class="clip" dir="auto">${row.label}</span>
          <span class="number">${row.text ?? number(row.value)}</span>
          <svg viewBox="0 0 100 10" height="10" preserveAspectRatio="none" aria-hidden="true">
            <rect
              class=${row.className || 'fill-accent'}
              height="10"
              width=${row.value === 0 ? 0 : Math.max(0.4, (100 * Math.abs(row.value)) / most)}
            ></rect>
          </svg>
          <span>${row.action}</span>
        </li>`,
    )}
  </ul>`;
}

/**
 * One bar of several parts, with a legend that has the values.
 * @param {{label: string, value: number, className: string, href?: string}[]} parts
 */
export function stacked(parts) {
  const total = parts.reduce((sum, part) => sum + part.value, 0);
  let at = 0;
  return html`${
      total > 0 &&
      html`<svg
        class="chart"
        viewBox="0 0 100 4"
        height="12"
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        ${parts.map((part) => {
          const x = at;
          at += (100 * part.value) / total;
          return svg`<rect class=${part.className} x=${x} width=${at - x} height="4"></rect>`;
        })}
      </svg>`
    }
    <ul class="legend">
      ${parts.map(
        (part) =>
          html`<li class=${part.className}>
            ${
              part.href
                ? html`<a href=${part.href}>${number(part.value)} ${part.label}</a>`
                : `${number(part.value)} ${part.label}`
            }
          </li>`,
      )}
    </ul>`;
}

/**
 * Upright bars by day.
 * @param {{label: string, value: number, href?: string}[]} days
 */
export function columns(days) {
  const most = Math.max(1, ...days.map((d) => d.value));
  const at = (/** @type {number} */ i) => `${(100 * (i + 0.5)) / days.length}%`;
  return html`<div class="scroll-x" tabindex="0" role="group" aria-label="By day">
    <svg
      class="chart"
      width=${46 * days.length}
      height="124"
      role="img"
      aria-label=${days.map((d) => `${d.label}: ${number(d.value)}`).join(', ')}
    >
      ${days.map(
        (d, i) => svg`
      <rect class="fill-accent" x=${at(i)} width="32" transform="translate(-16)" y=${
        88 - (64 * d.value) / most
      } height=${(64 * d.value) / most}></rect>
      <text x=${at(i)} y=${
        82 - (64 * d.value) / most
      } text-anchor="middle">${number(d.value)}</text>
      <text text-anchor="middle">${d.label
        .split(/ (.*)/, 2)
        .map((line, n) => svg`<tspan x=${at(i)} y=${104 + 15 * n}>${line}</tspan>`)}</text>`,
      )}
    </svg>
  </div>`;
}
