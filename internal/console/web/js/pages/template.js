// @ts-check
// The template editor: steps, the text that a person receives, and the days on which it happens.
import { request } from '../api.js';
import { control, field, nameOf } from '../components/field.js';
import { button, empty, failed, heading, section } from '../components/parts.js';
import { html } from '../dom.js';
import { link } from '../router.js';
import { may } from '../state.js';
import { number, plural } from '../text.js';
import { openHistory } from './history.js';
import { changed, preview, receives, select, test } from './template_preview.js';
import { deleteTemplate, save } from './template_save.js';
import { starters, transition } from './template_starters.js';
import { editor, formOf } from './template_step.js';
import { move, stepList, timeline } from './template_steps.js';

/**
 * A step in the editor.
 * @typedef {Pick<API['Step'], 'type' | 'index'> & Partial<API['Step']>} DraftStep
 */

/**
 * A template in the editor, which is perhaps not saved yet.
 * @typedef {{
 *   id?: string,
 *   name: string,
 *   description?: string | null,
 *   steps: DraftStep[],
 *   transitions: API['Transition'][],
 *   blocks: Record<string, API['Block']>,
 * }} Draft
 */

/**
 * What the page knows. step is the one that is edited, as the contact who would receive texts,
 * missing how many people of the audience lack a value of the step, run counts what was rendered.
 * @typedef {{
 *   isNew: boolean,
 *   path: `/v1/sequence-templates/${string}`,
 *   template: Draft,
 *   etag: string | null,
 *   isDirty: boolean,
 *   errors: Record<string, string>,
 *   step: number,
 *   as: string,
 *   texts: API['PlannedStep'][],
 *   invalid: string,
 *   campaigns: Campaign[],
 *   missing: {name: string, all: number, n: number}[],
 *   isBusy: boolean,
 *   problem: string,
 *   run: number,
 *   key?: string,
 *   timer?: ReturnType<typeof setTimeout>,
 * }} Model
 */

/** @type {PageModule<Model>} */
export const templatePage = {
  title: (model) => model.template.name || 'New template',
  async load({ args, search }, signal, previous) {
    const isNew = args.id === 'new';
    const path = /** @type {const} */ (`/v1/sequence-templates/${args.id}`);
    const answer = isNew ? null : await request('GET', path, undefined, { signal });
    const model = Object.assign(previous || { problem: '', run: 0 }, {
      isNew,
      path,
      template: answer?.body.data || { name: '', steps: [], transitions: [], blocks: {} },
      etag: answer?.headers.get('ETag') ?? null,
      isDirty: false,
      errors: {},
      step: Number(search.get('step') || 1) - 1,
      as: search.get('as') || '',
      texts: [],
      invalid: '',
      campaigns: [],
      missing: [],
      isBusy: false,
    });
    void preview(model).catch(failed);
    return model;
  },
  view,
  keys: (model) => ({
    'Ctrl s': () => void save(model),
    'Alt ArrowUp': () => move(model, -1),
    'Alt ArrowDown': () => move(model, 1),
  }),
};

/** @param {Model} model */
function view(model) {
  const { template: x } = model;
  return html`<div class="page full">
    ${heading({
      up: ['/templates', 'Templates'],
      title: x.name || 'New template',
      note: model.isNew ? '' : usedBy(model.campaigns),
      needs: 'write',
      actions: headingActions(model),
    })}
    ${model.problem && html`<p class="notice bad" role="alert">${model.problem}</p>`}
    ${x.steps.length === 0 ? start(model) : content(model)}
  </div>`;
}

/** Which campaigns use the template. @param {Campaign[]} campaigns */
function usedBy(campaigns) {
  const n = campaigns.length;
  if (n === 0) return 'not used by a campaign';
  return html`${plural(n, 'used by {n} campaign:', 'used by {n} campaigns:')}
  ${campaigns.map(
    ({ id, name }, i) =>
      html`${i > 0 && ', '}<a href=${link(`/campaigns/${id}`)} dir="auto">${name}</a>`,
  )}`;
}

/** What is edited of a template that has steps. @param {Model} model */
function content(model) {
  const form = formOf(model.template, model, '');
  const names = html`${field(form, { name: 'name', required: true })}${field(form, { name: 'description' })}`;
  return html` <div class="columns">${may('write') && names} ${recipient(model)}</div>
    <div class="editor">
      ${section('Steps', stepList(model))}${section(
        `Step ${number(model.step + 1)}`,
        editor(model),
      )}${section('What they receive', receives(model))}
    </div>
    ${timeline(model)}`;
}

/** The choice of the contact whose texts are shown. @param {Model} model */
function recipient(model) {
  const set = (/** @type {unknown} */ id) => {
    if (!id || id === model.as) return;
    model.as = String(id);
    select(model, model.step);
    void preview(model);
  };
  return html`<div class="field">
    <label for="as">Show as</label>${control({
      id: 'as',
      name: 'as',
      label: 'Show as',
      type: 'reference',
      reference: 'contacts',
      value: model.as,
      set,
    })}
  </div>`;
}

/** @param {Model} model */
function headingActions(model) {
  const { template: x, isNew } = model;
  return html` ${model.isDirty && html`<span class="status warn">not saved</span>`}
    ${x.steps[model.step]?.type === 'auto_email' && button('Send to me', () => test(model))}${
      !isNew &&
      html`${button('History', () =>
        openHistory('sequence-templates', nameOf(x), model.path),
      )}${button('Delete…', () => deleteTemplate(model), 'danger')}`
    }<button
      class="button primary"
      type="button"
      ?disabled=${!model.isDirty || model.isBusy}
      @click=${() => save(model)}
    >
      Save
    </button>`;
}

/** The choice of a starter, for a template without steps. @param {Model} model */
const start = (model) =>
  empty(
    'Choose a start. You can change everything.',
    html`<div class="buttons">
      ${starters.map(([name, steps, delays]) =>
        button(name, () => {
          model.template = {
            ...model.template,
            name,
            steps: steps.map((step, index) => ({ ...step, index })),
            transitions: delays.map(([from, n]) => transition(from, from + 1, n)),
          };
          model.step = 0;
          changed(model);
        }),
      )}
    </div>`,
  );
