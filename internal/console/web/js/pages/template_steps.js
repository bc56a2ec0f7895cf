// @ts-check
// The steps of the template in the editor: their list, their order and their times.
import { graph } from '../components/graph.js';
import { button, section, soft, toast } from '../components/parts.js';
import { html, keyed } from '../dom.js';
import { words } from '../format.js';
import { may } from '../state.js';
import { number, plural } from '../text.js';
import { changed, select } from './template_preview.js';
import { bye, email, hello, transition } from './template_starters.js';

/** @typedef {import('./template.js').Model} Model */

/** When each step happens. @param {Model} model */
export const timeline = (model) =>
  section(
    'Timeline',
    graph({
      nodes: model.template.steps.map((step, i) => ({
        index: i,
        label: step.title || words(step.type),
        isTask: step.type !== 'auto_email',
        at: model.texts.find((s) => s.index === i)?.due_at || null,
      })),
      edges: model.template.transitions.map((e) => ({
        from: e.from_step_index,
        to: e.to_step_index,
        label: delay(e),
      })),
      selected: model.step,
      onSelect: (index) => select(model, index),
    }),
    soft('for a sequence that starts now'),
  );

/** How long a step waits for another. @param {API['Transition']} e */
const delay = (e) =>
  [
    duration(e.pre_check_delay, e.pre_check_time_unit),
    duration(e.post_check_delay, e.post_check_time_unit),
  ]
    .filter(Boolean)
    .join(' + ') || 'at once';

/** @param {number} n @param {string | null} unit */
function duration(n, unit) {
  if (!n || !unit) return '';
  return unit === 'business_days'
    ? plural(n, '{n} business day', '{n} business days')
    : plural(n, `{n} ${unit.slice(0, -1)}`, `{n} ${unit}`);
}

/** @param {Model} model */
export function stepList(model) {
  const { template: x } = model;
  return html`<ol class="steps">
      ${keyed(
        x.steps,
        (_, i) => i,
        (step, i) =>
          html`<li>
            <button
              type="button"
              aria-current=${i === model.step ? 'true' : null}
              @click=${() => select(model, i)}
            >
              <span class="soft">${i + 1}</span
              ><span
                ><span dir="auto">${step.title || words(step.type)}</span><br /><span
                  class="soft small"
                  >${words(step.type.replace('auto_', ''))} ·
                  ${
                    x.transitions
                      .filter((e) => e.to_step_index === i)
                      .map(delay)
                      .join(', ') || `day ${number(step.day || 0)}, ${step.hour ?? 9}:00`
                  }</span
                ></span
              >
            </button>
          </li>`,
      )}
    </ol>
    ${
      may('write') &&
      html`<div class="buttons">
        ${button('+ Step', () => {
          const index = x.steps.length;
          x.steps.push({ ...email('', `${hello}…${bye}`), index });
          if (index) x.transitions.push(transition(index - 1, index, 2));
          model.step = index;
          changed(model);
        })}${
          x.steps.length > 1 &&
          html`${button(
            '↑',
            () => move(model, -1),
            'icon',
          )}${button('↓', () => move(model, 1), 'icon')}${button('Remove', () =>
            removeStep(model),
          )}`
        }
      </div>`
    }`;
}

/**
 * Exchanges the step with one beside it. The transitions keep their places.
 * @param {Model} model
 * @param {number} by
 */
export function move(model, by) {
  const { steps } = model.template;
  const to = model.step + by;
  if (!steps[to]) return;
  [steps[model.step], steps[to]] = [
    { ...steps[to], index: model.step },
    { ...steps[model.step], index: to },
  ];
  model.step = to;
  changed(model);
}

/** @param {Model} model */
function removeStep(model) {
  const { template: x, step: gone } = model;
  const before = structuredClone({ steps: x.steps, transitions: x.transitions });
  const shift = (/** @type {number} */ i) => (i > gone ? i - 1 : i);
  x.steps = x.steps.filter((_, i) => i !== gone).map((step, index) => ({ ...step, index }));
  // What followed the step follows what was before it.
  const [from] = x.transitions
    .filter((e) => e.to_step_index === gone)
    .map((e) => e.from_step_index);
  x.transitions = x.transitions
    .filter((e) => e.to_step_index !== gone && (e.from_step_index !== gone || from !== undefined))
    .map((e) => ({
      ...e,
      from_step_index: shift(e.from_step_index === gone ? from : e.from_step_index),
      to_step_index: shift(e.to_step_index),
    }));
  model.step = Math.max(0, gone - 1);
  changed(model);
  toast(`Step ${number(gone + 1)} removed`, {
    undo: () => {
      Object.assign(x, before);
      changed(model);
    },
  });
}
