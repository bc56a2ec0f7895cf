// @ts-check
// Saving a template that nobody else has changed, and deleting it.
import { ApiError, messageOf, patch, post, request } from '../api.js';
import { confirm } from '../components/dialog.js';
import { nameOf } from '../components/field.js';
import { toast } from '../components/parts.js';
import { html } from '../dom.js';
import { words } from '../format.js';
import { go, link, reload } from '../router.js';
import { update } from '../state.js';
import { number } from '../text.js';
import { deleteUsed } from '../uses.js';
import { contentOf, inWords } from './template_preview.js';
import { deleted } from './undo.js';

/** @typedef {import('./template.js').Model} Model */

/** @param {Model} model */
export async function save(model) {
  const { template: x, isNew } = model;
  if (model.isBusy || !model.isDirty) return;
  model.isBusy = true;
  model.problem = '';
  const change = { ...contentOf(model), name: x.name };
  try {
    const saved = await (isNew
      ? post('/v1/sequence-templates', change, { key: (model.key ??= crypto.randomUUID()) })
      : patch(model.path, change, { match: model.etag ?? undefined }));
    model.isDirty = false;
    const running = model.campaigns.filter((c) => c.status === 'active').map((c) => c.name);
    toast(
      running.length
        ? `Saved. Whoever is in ${running.join(', ')} already keeps the earlier text, until ` +
            'you press “Use the newest text…” there.'
        : 'Saved',
    );
    await (isNew ? go(`/templates/${saved.id}`, { replace: true }) : reload());
  } catch (error) {
    if (error instanceof ApiError && error.status === 412) return conflict(model);
    const details = error instanceof ApiError ? error.details : [];
    for (const { path, message } of details) model.errors[path] ??= message;
    const inStep = /^steps\[(\d+)\]/.exec(details[0]?.path || '');
    if (inStep) model.step = Number(inStep[1]);
    model.problem = details.length
      ? `${number(details.length)} to correct: ${inWords(`${details[0].path}: ${details[0].message}`)}`
      : messageOf(error);
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        /** @type {HTMLElement | null} */ (
          document.querySelector('[aria-invalid="true"]')
        )?.focus(),
      ),
    );
  } finally {
    model.isBusy = false;
    update();
  }
}

/** Somebody else has changed the template. @param {Model} model */
async function conflict(model) {
  const theirs = await request('GET', model.path);
  const parts = /** @type {const} */ (['name', 'description', 'steps', 'transitions', 'blocks']);
  const fields = parts.filter(
    (key) => JSON.stringify(theirs.body.data[key]) !== JSON.stringify(model.template[key]),
  );
  if (
    await confirm({
      title: 'Somebody else has changed this template',
      action: 'Keep mine',
      danger: true,
      text: html`Different: ${fields.map(words).join(', ')}.
        <a href=${link(`/templates/${model.template.id}`)} target="_blank">See theirs</a>`,
    })
  ) {
    model.etag = theirs.headers.get('ETag');
    await save(model);
  }
}

/** @param {Model} model */
export async function deleteTemplate(model) {
  if (
    !(await deleteUsed({
      path: model.path,
      title: `Delete ${nameOf(model.template)}?`,
      text: 'You can restore it from the trash for 30 days.',
      action: 'Delete the template',
    }))
  )
    return;
  model.isDirty = false;
  await go('/templates');
  deleted(nameOf(model.template), model.path, `/templates/${model.template.id}`);
}
