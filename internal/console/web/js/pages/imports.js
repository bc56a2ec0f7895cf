// @ts-check
// Imports: choose a file, say what its columns are, see what would happen, import it, see what
// happened.
import { forgetAll, get, post, schemaOf } from '../api.js';
import { FormState } from '../components/dialog.js';
import { button, download, heading, section, soft, status } from '../components/parts.js';
import { html } from '../dom.js';
import { follow } from '../foot.js';
import { dateTime } from '../format.js';
import { madeBy } from '../query.js';
import { link } from '../router.js';
import { may, update } from '../state.js';
import { number, plural } from '../text.js';
import { entities } from './entities.js';
import { columns, source } from './import_columns.js';
import { changed, check, choose, kinds, run, workOf } from './import_file.js';
import { options } from './import_options.js';
import { changes, counts, failure, problems } from './import_result.js';
import { askUndo, isUndoable, operationWith, readUndone, undoneNote } from './undo.js';

/**
 * What the page of a new import knows: the file, what the service recognized in it, the fields of
 * its columns, which of them the user has chosen, and what an import would do.
 * @typedef {{
 *   entity: string,
 *   fields: Field[],
 *   form: FormState,
 *   file: File | null,
 *   reading: Reading,
 *   inspection: API['Inspection'] | null,
 *   mapping: Record<string, string>,
 *   chosen: Record<string, boolean>,
 *   trial: API['FileImport'] | null,
 *   isBusy: boolean,
 *   isDirty: boolean,
 *   abort: AbortController,
 *   timer?: ReturnType<typeof setTimeout>,
 * }} Model
 */

/**
 * The sheet and the encoding, if they are not as recognized.
 * @typedef {{sheet?: string, encoding?: string}} Reading
 */

/** A page without a file. @returns {Omit<Model, 'entity' | 'fields' | 'form'>} */
const withoutFile = () => ({
  file: null,
  reading: {},
  inspection: null,
  mapping: {},
  chosen: {},
  trial: null,
  isBusy: false,
  isDirty: false,
  abort: new AbortController(),
});

/** @type {PageModule<Model>} */
export const newImportPage = {
  title: () => 'Import',
  async load({ search }, _signal, previous) {
    const entity = Object.keys(kinds).find((name) => name === search.get('entity')) || 'contacts';
    const { fields } = await schemaOf(entity);
    const model = Object.assign(previous || withoutFile(), {
      entity,
      fields,
      form: new FormState({
        match_on: 'auto',
        id_system: 'auto',
        locale: 'auto',
        date_order: '',
        on_bad_value: 'drop_value',
        on_existing: 'overwrite',
        existing_tags: 'add',
        new_accounts: true,
      }),
    });
    model.form.draw = () => changed(model);
    if (model.file) void choose(model, model.file);
    return model;
  },
  close: (model) => model.abort.abort(),
  view(model) {
    const { entity, file, inspection, form } = model;
    return html`<div
      class="page"
      @dragover=${(e) => e.preventDefault()}
      @drop=${(e) => {
        e.preventDefault();
        void choose(model, e.dataTransfer.files[0]);
      }}
    >
      ${heading({
        up: ['/imports', 'Imports'],
        title: `Import ${kinds[entity].title.toLowerCase()}`,
        note: file && about(file, inspection),
        needs: 'write',
      })}
      ${
        may('write') &&
        html`${kindTabs(model)} ${fileInput(model)}
        ${form.problem && html`<p class="notice bad" role="alert">${form.problem}</p>`}
        ${
          file &&
          !inspection &&
          !form.problem &&
          html`<p class="soft" role="status">Reading the file…</p>`
        }
        ${
          file &&
          inspection &&
          html`${source(model, file, inspection)}${columns(model, inspection)}${options(model)}${trial(model, file)}`
        }`
      }
    </div>`;
  },
};

/** The kinds of records that can be imported. @param {Model} model */
const kindTabs = (model) =>
  html`<div class="tabs">
    ${Object.entries(kinds).map(
      ([name, { title }]) =>
        html`<a
          href=${link(`/imports/new?entity=${name}`)}
          @click=${() => {
            model.isDirty = false;
          }}
          aria-current=${name === model.entity ? 'page' : null}
          >${title}</a
        >`,
    )}
  </div>`;

/** @param {Model} model */
const fileInput = (model) =>
  html`<label class="drop"
    ><input
      class="visually-hidden"
      type="file"
      accept=".csv,.tsv,.txt,.xlsx,.vcf,.json,.jsonl,.gz,.zip"
      @change=${(e) => choose(model, e.target.files[0])}
    />
    <strong>${model.file ? 'Choose another file' : 'Drop a file here, or choose one'}</strong>${
      !model.file &&
      soft(
        'A spreadsheet (.xlsx), a CSV file with a line of headings, an address book ' +
          '(vCard) or JSON, also as gzip or zip. Nothing is imported before you have seen what happens.',
      )
    }</label
  >`;

/** @param {File} file @param {API['Inspection'] | null} i what the service recognized */
function about(file, i) {
  const delimiter =
    i && ({ '\t': 'tabs', ',': 'commas', ';': 'semicolons' }[String(i.delimiter)] || i.delimiter);
  return [
    file.name,
    `${number(Math.ceil(file.size / 1024))} KB`,
    i?.encoding?.toUpperCase(),
    delimiter && `separated by ${delimiter}`,
  ]
    .filter(Boolean)
    .join(' · ');
}

/** What would happen, and the button that has it happen. @param {Model} model @param {File} file */
function trial(model, file) {
  const { trial: i, isBusy } = model;
  const n = i ? i.rows - i.skipped : 0;
  return section(
    'What happens',
    html`${
      isBusy &&
      html`<p role="status">
        Checking the file… <progress aria-label="Checking the file…"></progress>
      </p>`
    }
    ${!isBusy && !i && html`<p>${button('Check the file', () => check(model, file), 'primary')}</p>`}
    ${
      i &&
      html`${
          i.status === 'completed'
            ? counts(i)
            : i.questions?.length
              ? questions(model, i.questions)
              : html`<p class="notice bad" role="alert">${failure(i)}</p>`
        }${changes(i, model.fields)}
        <p class="buttons">
          ${
            i.status === 'completed' &&
            n > 0 &&
            button(
              plural(n, 'Import {n} row', 'Import {n} rows'),
              () => run(model, file),
              'primary',
            )
          }${i.status === 'completed' && n === 0 && 'There is nothing to import.'}
        </p>
        ${problems(i)}`
    }`,
  );
}

/**
 * What must be known before the file can be imported.
 * @param {Model} model
 * @param {API['Question'][]} all
 */
function questions({ form, mapping, chosen }, all) {
  const dates = all.filter((q) => q.code === 'ambiguous_dates');
  const answer = (/** @type {string} */ value, /** @type {string} */ label) =>
    button(label, () => {
      form.values.date_order = value;
      form.draw();
    });
  const meaning = (
    /** @type {string} */ name,
    /** @type {string} */ value,
    /** @type {string} */ label,
  ) =>
    button(label, () => {
      mapping[name] = value;
      chosen[name] = true;
      form.draw();
    });
  return html`${dates.map(
    (q) =>
      html`<p role="alert">
        Column ${q.column}: does the day or the month come first in ${q.samples.join(', ')}?
      </p>`,
  )}
  ${
    dates.length > 0 &&
    html`<p class="buttons">${answer('dmy', 'The day')}${answer('mdy', 'The month')}</p>`
  }
  ${all
    .filter((q) => q.code === 'mapping_required')
    .map(
      (q) =>
        html`<p role="alert">
            Column ${q.column}: does it say who has opted out? ${soft(q.samples.join(' · '))}
          </p>
          <p class="buttons">
            ${meaning(q.column, 'do_not_contact', 'Yes, with every value but a no')}${meaning(
              q.column,
              'opt_out_status',
              'Only with words such as “unsubscribed”',
            )}${meaning(q.column, '', 'No')}
          </p>`,
    )}`;
}

/**
 * What the page of an import knows. fields are those of the kind of record that it brings.
 * @typedef {{
 *   item: API['FileImport'],
 *   operation: Operation | undefined,
 *   fields: Field[],
 * }} Result
 */

/** @type {PageModule<Result>} */
export const importPage = {
  title: () => 'Import',
  async load({ args }, signal) {
    const item = await get(`/v1/imports/${args.id}`, { signal });
    const operation =
      item.status === 'running' || item.dry_run ? undefined : await operationWith(item.id, signal);
    await readUndone(operation, signal);
    const model = { item, operation, fields: (await schemaOf(item.entity)).fields };
    if (item.status === 'running')
      follow({
        ...workOf(item.id, item.entity),
        seen: (i) => {
          model.item = i;
          update();
        },
      });
    else forgetAll(); // tags may be new
    return model;
  },
  view({ item: i, operation, fields }) {
    const kind = kinds[i.entity];
    const made =
      i.entity in entities && i.added > 0 && !i.dry_run && i.finished_at && madeBy('csv', i);
    return html`<div class="page">
      ${heading({
        up: ['/imports', 'Imports'],
        title: i.file_name || `Import of ${kind.title.toLowerCase()}`,
        note: html`${status(i.status)}
        ${[i.dry_run && 'dry run', dateTime(i.created_at), i.encoding?.toUpperCase()]
          .filter(Boolean)
          .join(' · ')}`,
        actions: html` ${
            i.status === 'running' && button('Cancel', () => post(`/v1/imports/${i.id}/cancel`, {}))
          }${operation && isUndoable(operation) && button('Undo…', () => askUndo(operation))}<a
            class="button"
            href=${link(kind.path)}
            >${kind.title}</a
          >`,
      })}
      ${undoneNote(operation)}
      ${
        i.status === 'running' &&
        html`<p class="notice" role="status">
          The import goes on if you leave this page.
          <progress max="1" .value=${i.progress || 0} aria-label="Progress"></progress>
        </p>`
      }
      ${
        (i.status === 'failed' || i.status === 'cancelled') &&
        html`<p class="notice bad" role="alert">${failure(i)}</p>`
      }
      ${section(
        'Result',
        counts(
          i,
          made && html`<a href=${link(kind.path + made)}>Show</a>`,
          i.skipped > 0 &&
            button(
              'Download them',
              () => download(`/v1/imports/${i.id}/rejects`, 'rejects.csv'),
              'plain',
            ),
        ),
      )}${changes(i, fields)}${problems(i)}
    </div>`;
  },
};
