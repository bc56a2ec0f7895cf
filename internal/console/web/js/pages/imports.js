// @ts-check
// Imports: choose a file, say what its columns are, see what would happen, import it, see what
// happened.
import { ApiError, forgetAll, get, hooks, post, schemaOf } from '../api.js';
import { bars } from '../components/chart.js';
import { FormState, form as ask } from '../components/dialog.js';
import { field, typeFields } from '../components/field.js';
import { button, download, heading, section, soft, status, table } from '../components/parts.js';
import { html } from '../dom.js';
import { dropWork, follow, showWork } from '../foot.js';
import { dateTime, listOf, words } from '../format.js';
import { madeBy } from '../query.js';
import { current, go, link } from '../router.js';
import { may, update } from '../state.js';
import { number, plural } from '../text.js';
import { entities } from './entities.js';
import { askUndo, isUndoable, operationWith, readUndone, undoneNote } from './undo.js';

/** What can be imported. @type {Record<string, {title: string, path: string}>} */
const kinds = {
  contacts: entities.contacts,
  accounts: entities.accounts,
  suppressions: { title: 'Suppressions', path: '/settings/suppressions' },
};
const start = 4 << 20; // bytes that the service reads to recognize a file, unless it is an archive
const small = 20 << 20; // bytes up to which a file is checked without being asked

/**
 * Sends a file with options and returns what the service answers. Unlike fetch, it reports how much
 * was sent.
 * @param {string} path
 * @param {Record<string, unknown>} options
 * @param {Blob} file
 * @param {string} name
 * @param {AbortSignal} signal
 * @param {(part: number) => void} [progress]
 * @returns {Promise<Item>}
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

/** @type {PageModule} */
export const newImportPage = {
  title: () => 'Import',
  async load({ search }, _signal, previous) {
    const entity = Object.keys(kinds).find((name) => name === search.get('entity')) || 'contacts';
    const { fields } = await schemaOf(entity);
    const model = Object.assign(previous || { file: null, abort: new AbortController() }, {
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
        actions: may('write') && '',
      })}
      ${
        may('write') &&
        html`<div class="tabs">
            ${Object.entries(kinds).map(
              ([name, { title }]) =>
                html`<a
                  href=${link(`/imports/new?entity=${name}`)}
                  @click=${() => {
                    model.isDirty = false;
                  }}
                  aria-current=${name === entity ? 'page' : null}
                  >${title}</a
                >`,
            )}
          </div>
          <label class="drop"
            ><input
              class="visually-hidden"
              type="file"
              accept=".csv,.tsv,.txt,.xlsx,.vcf,.json,.jsonl,.gz,.zip"
              @change=${(e) => choose(model, e.target.files[0])}
            />
            <strong>${file ? 'Choose another file' : 'Drop a file here, or choose one'}</strong>${
              !file &&
              soft(
                'A spreadsheet (.xlsx), a CSV file with a line of headings, an address book ' +
                  '(vCard) or JSON, also as gzip or zip. Nothing is imported before you have seen what happens.',
              )
            }</label
          >
          ${form.problem && html`<p class="notice bad" role="alert">${form.problem}</p>`}
          ${
            file &&
            !inspection &&
            !form.problem &&
            html`<p class="soft" role="status">Reading the file…</p>`
          }
          ${inspection && html`${source(model)}${columns(model)}${options(model)}${trial(model)}`}`
      }
    </div>`;
  },
};

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

/**
 * Reads the beginning of a file.
 * @param {Item} model
 * @param {File} [file]
 * @param {Item} [reading] the sheet and the encoding, if they are not as recognized
 */
async function choose(model, file, reading = {}) {
  if (!file) return;
  begin(model);
  Object.assign(model, { file, reading, inspection: null, mapping: {}, chosen: {}, isDirty: true });
  update();
  try {
    model.inspection = await send(
      '/v1/imports/inspect',
      { entity: model.entity, ...model.reading },
      /\.(zip|xls.)$/i.test(file.name) ? file : file.slice(0, start),
      file.name,
      model.abort.signal,
    );
    model.mapping = Object.fromEntries(
      model.inspection.columns.map((/** @type {API['InspectedColumn']} */ c) => [
        c.name,
        c.field || '',
      ]),
    );
    if (file.size <= small) await check(model);
  } catch (error) {
    fail(model, error);
  }
  update();
}

/** Forgets what was checked. @param {Item} model */
function begin(model) {
  model.abort.abort();
  clearTimeout(model.timer);
  Object.assign(model, { abort: new AbortController(), trial: null, isBusy: false });
  Object.assign(model.form, { problem: '', errors: {} });
}

/** @param {Item} model @param {any} error */
function fail(model, error) {
  if (error.name !== 'AbortError')
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

/** After a change the file is checked again. @param {Item} model */
function changed(model) {
  update();
  if (model.form.problem || !model.inspection) return;
  begin(model);
  if (model.file.size <= small) model.timer = setTimeout(() => void check(model), 700);
}

/** Which sheet is read, and in which encoding if that is a guess. @param {Item} model */
function source(model) {
  const { file, reading, inspection: i } = model;
  const choice = (
    /** @type {string} */ name,
    /** @type {string} */ label,
    /** @type {string[]} */ values,
  ) =>
    html`<p>
      <label
        >${label}
        <select @change=${(e) => choose(model, file, { ...reading, [name]: e.target.value })}>
          ${values.map((value) => html`<option .selected=${value === i[name]}>${value}</option>`)}
        </select></label
      >
    </p>`;
  return html`${i.sheets.length > 1 && choice('sheet', 'Sheet', i.sheets)}
  ${
    (i.encoding_unsure || reading.encoding) &&
    choice('encoding', 'Encoding: choose another one if letters are wrong', i.encodings)
  }`;
}

/** @param {Item} model */
function columns(model) {
  const { inspection, mapping, chosen, fields, form } = model;
  const known = fields
    .filter((/** @type {Field} */ f) => !f.read_only)
    .map((/** @type {Field} */ f) => [f.key, f.label]);
  const others = [
    ...new Set([
      ...inspection.columns.map((/** @type {API['InspectedColumn']} */ c) => c.field),
      ...(model.entity === 'contacts'
        ? ['full_name', 'account_name', 'account_website', 'opt_out_status']
        : []),
    ]),
  ]
    .filter((key) => key && !known.some((/** @type {string[]} */ [other]) => other === key))
    .map((key) => [key, words(key)]);
  const choices = [...known, ...others].sort((a, b) => a[1].localeCompare(b[1]));
  return section(
    'Columns',
    table(
      ['Column', 'Values', 'Field', 'Recognized'],
      inspection.columns.map((/** @type {API['InspectedColumn']} */ c) => [
        html`<strong dir="auto">${c.name}</strong>`,
        html`<span class="soft" dir="auto">${(c.samples || []).slice(0, 3).join(' · ')}</span>`,
        html`<select
          aria-label=${`Field of the column ${c.name}`}
          @change=${(e) => {
            mapping[c.name] = e.target.value;
            chosen[c.name] = true;
            form.draw();
          }}
        >
          <option value="" .selected=${!mapping[c.name]}>Do not import</option>
          ${choices.map(
            ([key, label]) =>
              html`<option value=${key} .selected=${mapping[c.name] === key}>${label}</option>`,
          )}
        </select>`,
        mapping[c.name] !== (c.field || '') || chosen[c.name]
          ? 'chosen by you'
          : !c.field
            ? newField(model, c)
            : status(
                c.confidence === 'guessed' ? 'waiting' : 'ready',
                c.confidence === 'guessed' ? 'guessed from the values' : 'by its name',
              ),
      ]),
    ),
  );
}

/**
 * Offers a new field for a column that no field fits.
 * @param {Item} model
 * @param {API['InspectedColumn']} c the column
 */
function newField(model, { name, samples }) {
  const { column, ...content } =
    model.inspection.custom_fields?.find((/** @type {Item} */ f) => f.column === name) || {};
  return (
    column &&
    button(
      'New field…',
      async () => {
        const made = await ask(
          {
            title: 'New field',
            action: 'Create',
            body: (state) =>
              [{ name: 'label' }, ...typeFields].map((options) => field(state, options)),
            submit: ({ values: v, key }) =>
              post(
                '/v1/fields',
                {
                  entity: model.entity,
                  ...v,
                  allowed_values: /^(enum|multi)/.test(v.data_type)
                    ? listOf(v.allowed_values)
                    : undefined,
                },
                { key },
              ),
          },
          { ...content, allowed_values: samples?.join(', ') },
        );
        if (!made) return;
        model.fields = (await schemaOf(model.entity)).fields;
        model.mapping[name] = `custom_field_${content.key}`;
        model.chosen[name] = true;
        model.form.draw();
      },
      'plain',
    )
  );
}

/** @param {string} value @param {string} label */
const option = (value, label) => ({ value, label });

/**
 * How a row finds its record, and what it may change there.
 * @param {FormState} form
 * @param {boolean} isContacts
 * @param {Record<string, string>} mapping
 */
const matchFields = (form, isContacts, mapping) =>
  html`${field(form, {
    name: 'match_on',
    label: 'A row updates the record with the same',
    required: true,
    help:
      form.values.match_on === 'auto'
        ? isContacts
          ? 'external ID, else email, LinkedIn URL, or name and account'
          : 'external ID, else website, or name and country'
        : '',
    options: [
      option('auto', 'Whatever it has'),
      ...(isContacts ? ['external_id', 'email', 'linkedin_url'] : ['external_id', 'website']).map(
        (key) => option(key, words(key)),
      ),
      option('none', 'Nothing: every row is a new record'),
    ],
  })}
  ${
    /external_id/.test(Object.values(mapping).join()) &&
    field(form, {
      name: 'id_system',
      label: 'Its ids are those of',
      required: true,
      options: [
        option('auto', 'Recognized by column'),
        ...['hubspot', 'pipedrive', 'salesforce', 'apollo', 'linkedin'].map((key) =>
          option(key, words(key)),
        ),
        option('none', 'No system: a number of your own'),
      ],
    })
  }
  ${
    form.values.match_on !== 'none' &&
    field(form, {
      name: 'on_existing',
      label: 'In a record that exists',
      required: true,
      options: [
        option('overwrite', 'Replace values with those of the row'),
        option('fill_empty', 'Fill only what is empty'),
        option('skip', 'Change nothing: leave out the row'),
      ],
    })
  }
  ${
    form.values.match_on !== 'none' &&
    form.values.on_existing !== 'skip' &&
    field(form, {
      name: 'existing_tags',
      label: 'Its tags',
      required: true,
      options: [
        option('add', 'Keep them, and add those of the row'),
        option('replace', 'Replace them with those of the row'),
      ],
    })
  }`;

/** How values are read. @param {FormState} form */
const valueFields = (form) =>
  html`${field(form, {
    name: 'locale',
    label: 'Numbers and dates are written as in',
    required: true,
    options: [
      ['auto', 'Recognized by column'],
      ['en-US', 'English (US): 1,250.50, 11/03/2025'],
      ['en-GB', 'English (UK): 1,250.50, 03/11/2025'],
      ['de', 'German: 1.250,50, 03.11.2025'],
      ['fr', 'French: 1 250,50, 03/11/2025'],
      ['es', 'Spanish: 1.250,50, 03/11/2025'],
    ].map(([value, label]) => option(value, label)),
  })}
  ${field(form, {
    name: 'on_bad_value',
    label: 'A value that cannot be read',
    required: true,
    options: [option('drop_value', 'Leave out the value'), option('skip_row', 'Leave out the row')],
  })}`;

/** @param {Item} model */
function options({ form, entity, mapping }) {
  if (entity === 'suppressions') return null;
  const isContacts = entity === 'contacts';
  return section(
    'Options',
    html`<div class="columns">
        ${matchFields(form, isContacts, mapping)} ${valueFields(form)}
        ${field(form, {
          name: 'tags',
          label: 'Give all of them the tags',
          help: 'with commas',
        })}
      </div>
      <div class="buttons">
        ${field(form, {
          name: 'new_tags',
          type: 'boolean',
          label: 'Create tags that do not exist',
        })}${
          isContacts &&
          field(form, {
            name: 'new_accounts',
            type: 'boolean',
            label: 'Create accounts that do not exist',
          })
        }
      </div>`,
  );
}

/** What an import takes. @param {Item} model @param {boolean} dry_run */
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
      inspection.columns
        .filter(
          (/** @type {API['InspectedColumn']} */ c) =>
            mapping[c.name] !== (c.field || '') || chosen[c.name],
        )
        .map((/** @type {API['InspectedColumn']} */ c) => [c.name, mapping[c.name]]),
    ),
    create_missing: [
      ...(v.new_tags ? ['tags'] : []),
      ...(v.new_accounts && entity === 'contacts' ? ['accounts'] : []),
    ],
    tags: listOf(v.tags),
  };
}

/** Finds out what an import would do. @param {Item} model */
async function check(model) {
  begin(model);
  const { signal } = model.abort;
  model.isBusy = true;
  update();
  try {
    let item = await send(
      '/v1/imports',
      optionsOf(model, true),
      model.file,
      model.file.name,
      signal,
    );
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

/** What would happen, and the button that has it happen. @param {Item} model */
function trial(model) {
  const { trial: i, isBusy } = model;
  const n = i && i.rows - i.skipped;
  return section(
    'What happens',
    html`${
      isBusy &&
      html`<p role="status">
        Checking the file… <progress aria-label="Checking the file…"></progress>
      </p>`
    }
    ${!isBusy && !i && html`<p>${button('Check the file', () => check(model), 'primary')}</p>`}
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
            button(plural(n, 'Import {n} row', 'Import {n} rows'), () => run(model), 'primary')
          }${i.status === 'completed' && n === 0 && 'There is nothing to import.'}
        </p>
        ${problems(i)}`
    }`,
  );
}

/** What must be known before the file can be imported. @param {Item} model @param {API['Question'][]} all */
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
 * Imports the file. The upload goes on when the user leaves the page, but not when the window is
 * closed.
 * @param {Item} model
 */
async function run(model) {
  const abort = new AbortController();
  const { file } = model;
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
    if (/** @type {any} */ (error).name !== 'AbortError') throw error;
  } finally {
    removeEventListener('beforeunload', stay);
    model.isBusy = false;
    update();
  }
}

/** The work of an import that the service does. @param {string} id @param {string} entity */
const workOf = (id, entity) => ({
  read: `/v1/imports/${id}`,
  href: `/imports/${id}`,
  label: `Importing ${kinds[entity].title.toLowerCase()}`,
  cancel: () => post(`/v1/imports/${id}/cancel`, {}),
  done: (/** @type {API['FileImport']} */ i) =>
    i.status === 'completed'
      ? `Imported: ${number(i.added)} new, ${number(i.updated)} updated, ${number(i.skipped)} skipped`
      : failure(i),
});

/** @param {API['FileImport']} i */
const failure = (i) =>
  i.status === 'cancelled'
    ? 'The import was cancelled. What it had imported stays.'
    : `The import failed: ${i.failure_reason}`;

/**
 * The rows of an import: they add up.
 * @param {API['FileImport']} i
 * @param {unknown} [ofNew]
 * @param {unknown} [ofSkipped] what can be done with them
 */
const counts = (i, ofNew, ofSkipped) =>
  html`${bars([
    { label: 'Rows', value: i.rows },
    { label: 'New', value: i.added, className: 'fill-good', action: ofNew },
    { label: 'Updated', value: i.updated },
    { label: 'Unchanged', value: i.unchanged, className: 'fill-soft' },
    { label: 'Skipped', value: i.skipped, className: 'fill-soft', action: ofSkipped },
  ])}
  ${
    i.opt_outs_kept > 0 &&
    html`<p>
      ${plural(
        i.opt_outs_kept,
        '{n} row says that somebody has not opted out who has; the opt-out stays',
        '{n} rows say that somebody has not opted out who has; the opt-outs stay',
      )}
    </p>`
  }
  ${
    i.values_dropped > 0 &&
    html`<p>
      ${plural(i.values_dropped, '{n} unreadable value, left out', '{n} unreadable values, left out')}
    </p>`
  }`;

/**
 * What rows change in records that exist, field by field.
 * @param {API['FileImport']} i
 * @param {Field[]} fields
 */
function changes(i, fields) {
  if (!i.changes?.length) return null;
  const labelOf = (/** @type {string} */ key) =>
    fields.find((f) => f.key === key)?.label || words(key);
  const shown = (/** @type {unknown} */ v) =>
    v === null || v === '' ? 'nothing' : typeof v === 'object' ? listText(v) : String(v);
  return html`<h3>${i.dry_run ? 'What would change' : 'What changed'}</h3>
    ${table(
      ['Field', 'Records', 'For example'],
      i.changes.map((c) => [
        labelOf(c.field),
        number(c.count),
        html`${c.samples.map(
          (s) =>
            html`<div>
              <span class="wrap"
                >${soft(`line ${number(s.line)}`)} ${shown(s.from)} →
                <strong>${shown(s.to)}</strong></span
              >
            </div>`,
        )}`,
      ]),
    )}`;
}

/** @param {any} v a list or an object */
const listText = (v) =>
  (Array.isArray(v) ? v : Object.values(v).filter((x) => x !== null)).join(', ') || 'nothing';

/** @param {API['FileImport']} i */
function problems({ problems: all }) {
  if (!all?.length) return null;
  const sorted = [...all].sort(
    (a, b) => (a.column || '').localeCompare(b.column || '') || b.count - a.count,
  );
  return html`<h3>Problems</h3>
    ${table(
      ['Column', 'Value', 'Problem', 'Rows', 'First line'],
      sorted
        .slice(0, 200)
        .map((p) => [
          p.column || '—',
          p.value ? html`<code class="wrap">${p.value}</code>` : '',
          p.message,
          number(p.count),
          p.first_line,
        ]),
    )}
    ${sorted.length > 200 && soft(`and ${number(sorted.length - 200)} more kinds of problems`)}`;
}

/** @type {PageModule} */
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
          model.item = /** @type {API['FileImport']} */ (i);
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
          }${isUndoable(operation) && button('Undo…', () => askUndo(operation))}<a
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
