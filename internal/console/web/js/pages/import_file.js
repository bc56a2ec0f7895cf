// @ts-check
// A file on its way: it is sent, recognized, checked and imported.
import { ApiError, get, hooks, post } from '../api.js';
import { dropWork, follow, showWork } from '../foot.js';
import { listOf } from '../format.js';
import { current, go } from '../router.js';
import { update } from '../state.js';
import { number } from '../text.js';
import { entities } from './entities.js';
import { failure } from './import_result.js';

/** @typedef {import('./imports.js').Model} Model */
/** @typedef {import('./imports.js').Reading} Reading */

/** What can be imported. @type {Record<string, {title: string, path: string}>} */
export const kinds = {
  contacts: entities.contacts,
  accounts: entities.accounts,
  suppressions: { title: 'Suppressions', path: '/settings/suppressions' },
};

const start = 4 << 20; // bytes that the service reads to recognize a file, unless it is an archive

const small = 20 << 20; // bytes up to which a file is checked without being asked

/**
 * Sends a file with options and returns what the service answers. Unlike fetch, it reports how much
 * was sent.
 * @template T
 * @param {string} path
 * @param {Record<string, unknown>} options
 * @param {Blob} file
 * @param {string} name
 * @param {AbortSignal} signal
 * @param {(part: number) => void} [progress]
 * @returns {Promise<T>}
 */
async function send(path, options, file, name, signal, progress) {
  const form = new FormData();
  form.append('options', JSON.stringify(options));
  form.append('file', file, name);
  try {
    return await new Promise((resolve, reject) => {
      const x = new XMLHttpRequest();
      x.open('POST', path);
      for (const [header, value] of Object.entries(hooks.headers))
        x.setRequestHeader(header, value);
      x.responseType = 'json';
      x.upload.onprogress = (e) => progress?.(e.loaded / e.total);
      x.onload = () => {
        const { code, message, details } = x.response?.error || {};
        if (x.status < 300) resolve(x.response.data);
        else reject(new ApiError(x.status, code, message || x.statusText, details));
      };
      x.onerror = () =>
        reject(
          new ApiError(
            0,
            'offline',
            'The upload broke off. Is the file still there, and the service reachable?',
          ),
        );
      x.onabort = () => reject(new DOMException('', 'AbortError'));
      signal.addEventListener('abort', () => x.abort());
      x.send(form);
    });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    await hooks.signIn();
    return send(path, options, file, name, signal, progress);
  }
}

/**
 * Reads the beginning of a file.
 * @param {Model} model
 * @param {File} [file]
 * @param {Reading} [reading]
 */
export async function choose(model, file, reading = {}) {
  if (!file) return;
  begin(model);
  Object.assign(model, { file, reading, inspection: null, mapping: {}, chosen: {}, isDirty: true });
  update();
  try {
    /** @type {API['Inspection']} */
    const inspection = await send(
      '/v1/imports/inspect',
      { entity: model.entity, ...model.reading },
      /\.(zip|xls.)$/i.test(file.name) ? file : file.slice(0, start),
      file.name,
      model.abort.signal,
    );
    model.inspection = inspection;
    model.mapping = Object.fromEntries(inspection.columns.map((c) => [c.name, c.field || '']));
    if (file.size <= small) await check(model, file);
  } catch (error) {
    fail(model, error);
  }
  update();
}

/** Forgets what was checked. @param {Model} model */
function begin(model) {
  model.abort.abort();
  clearTimeout(model.timer);
  Object.assign(model, { abort: new AbortController(), trial: null, isBusy: false });
  Object.assign(model.form, { problem: '', errors: {} });
}

/** Whether what was asked for is not wanted any more. @param {unknown} error */
const isAborted = (error) => error instanceof DOMException && error.name === 'AbortError';

/** @param {Model} model @param {unknown} error */
function fail(model, error) {
  if (!isAborted(error))
    model.form.fail(
      error instanceof ApiError && error.details.length
        ? new ApiError(
            error.status,
            error.code,
            error.details.map((d) => `${d.path}: ${d.message}`).join(' '),
          )
        : error,
    );
}

/** After a change the file is checked again. @param {Model} model */
export function changed(model) {
  update();
  const { file, form, inspection } = model;
  if (form.problem || !file || !inspection) return;
  begin(model);
  if (file.size <= small) model.timer = setTimeout(() => void check(model, file), 700);
}

/** What an import takes. @param {Model} model @param {boolean} dry_run */
function optionsOf({ entity, inspection, mapping, chosen, reading, form: { values: v } }, dry_run) {
  return {
    entity,
    dry_run,
    ...reading,
    ...(entity === 'suppressions'
      ? {}
      : {
          match_on: v.match_on,
          on_existing: v.on_existing,
          existing_tags: v.existing_tags,
          ...(v.id_system === 'auto' ? {} : { id_system: v.id_system }),
        }),
    on_bad_value: v.on_bad_value,
    ...(v.locale === 'auto' ? {} : { locale: v.locale }),
    ...(v.date_order && { date_order: v.date_order }),
    mapping: Object.fromEntries(
      (inspection?.columns || [])
        .filter((c) => mapping[c.name] !== (c.field || '') || chosen[c.name])
        .map((c) => [c.name, mapping[c.name]]),
    ),
    create_missing: [
      ...(v.new_tags ? ['tags'] : []),
      ...(v.new_accounts && entity === 'contacts' ? ['accounts'] : []),
    ],
    tags: listOf(v.tags),
  };
}

/** Finds out what an import would do. @param {Model} model @param {File} file */
export async function check(model, file) {
  begin(model);
  const { signal } = model.abort;
  model.isBusy = true;
  update();
  try {
    /** @type {API['FileImport']} */
    let item = await send('/v1/imports', optionsOf(model, true), file, file.name, signal);
    while (item.status === 'running') {
      await new Promise((resolve) => setTimeout(resolve, 300));
      if (signal.aborted)
        return void (await post(`/v1/imports/${item.id}/cancel`, {}, { quiet: true }).catch(
          () => {},
        ));
      item = await get(`/v1/imports/${item.id}`, { signal });
    }
    model.trial = item;
  } catch (error) {
    fail(model, error);
  }
  if (!signal.aborted) model.isBusy = false;
  update();
}

/**
 * Imports the file. The upload goes on when the user leaves the page, but not when the window is
 * closed.
 * @param {Model} model
 * @param {File} file
 */
export async function run(model, file) {
  const abort = new AbortController();
  const at = '/imports/new';
  /** @type {import('../foot.js').Work} */
  const work = {
    href: at,
    label: `Uploading ${file.name}`,
    cancel: () => abort.abort(),
  };
  // the browser asks before the window is closed
  const stay = (/** @type {Event} */ e) => e.preventDefault();
  showWork(work);
  addEventListener('beforeunload', stay);
  model.isBusy = true;
  model.isDirty = false;
  try {
    /** @type {API['FileImport']} */
    const made = await send(
      '/v1/imports',
      optionsOf(model, false),
      file,
      file.name,
      abort.signal,
      (part) => {
        work.at = part;
        showWork(work);
      },
    );
    const followed = Object.assign(work, workOf(made.id, model.entity));
    if (current.params.path === at) await go(work.href);
    follow(followed);
  } catch (error) {
    dropWork(work);
    model.isDirty = true;
    if (!isAborted(error)) throw error;
  } finally {
    removeEventListener('beforeunload', stay);
    model.isBusy = false;
    update();
  }
}

/** The work of an import that the service does. @param {string} id @param {string} entity */
export const workOf = (id, entity) => ({
  read: `/v1/imports/${id}`,
  href: `/imports/${id}`,
  label: `Importing ${kinds[entity].title.toLowerCase()}`,
  cancel: () => post(`/v1/imports/${id}/cancel`, {}),
  done: (/** @type {API['FileImport']} */ i) =>
    i.status === 'completed'
      ? `Imported: ${number(i.added)} new, ${number(i.updated)} updated, ${number(i.skipped)} skipped`
      : failure(i),
});
