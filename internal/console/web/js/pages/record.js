// @ts-check
// The page of one record: its fields, what comes next, and what happened.
import {
  ApiError,
  get,
  getPage,
  inWords,
  is,
  list,
  patch,
  post,
  remove,
  request,
  schemaOf,
  tags,
} from '../api.js';
import { confirm, FormState, open } from '../components/dialog.js';
import {
  control,
  explain,
  knownName,
  nameOf,
  optionsOf,
  resolve,
  resolveAll,
  yesNo,
} from '../components/field.js';
import { allowedValues, guessReference } from '../components/filter.js';
import { button, failed, heading, section, soft, status, toast } from '../components/parts.js';
import { html, keyed } from '../dom.js';
import { dateTime, fromInput, listOf, show, toInput, words } from '../format.js';
import { go, link, reload } from '../router.js';
import { may, origin, update } from '../state.js';
import { number, plural, why } from '../text.js';
import { deleteUsed } from '../uses.js';
import { actions, create } from './actions.js';
import { entities, tagsFor, valueAt } from './entities.js';
import { past, readMentioned } from './history.js';
import { deleted } from './undo.js';

/** Reads the names of the records to which a record refers. @param {Schema} schema @param {Item} record */
async function readReferences(schema, record) {
  await Promise.all(
    schema.fields
      .filter(
        (f) =>
          f.type === 'reference' &&
          record[f.key] &&
          !Array.isArray(record[f.key]) &&
          f.key !== 'id',
      )
      .map((f) => resolve(f.reference || guessReference(f.key), record[f.key]).catch(() => '')),
  );
}

/**
 * Reads a record with what happened to it and what belongs to it.
 * @param {Entity} kind
 * @param {string} id
 * @param {URLSearchParams} search
 * @param {AbortSignal} signal
 */
async function load(kind, id, search, signal) {
  const path = `/v1/${kind.entity}/${id}`;
  const [schema, answer, history, allTags] = await Promise.all([
    schemaOf(kind.entity),
    request('GET', path, undefined, { signal }).catch((error) => {
      // the record that it was merged into
      const to = error.status === 404 && error.details[0]?.id;
      if (to) void go(`${kind.path}/${to}`, { replace: true });
      throw error;
    }),
    getPage(`${path}/history?page_size=50`, { signal }),
    tags(),
  ]);
  const isContact = kind.entity === 'contacts';
  const [timeline, sequences] = isContact
    ? await Promise.all([
        getPage(`${path}/timeline?page_size=100`, { signal }),
        list('/v1/sequences/list', { filters: [is('contact_id', id)], page_size: 20 }, { signal }),
      ])
    : [null, null];
  const contacts =
    kind.entity === 'accounts'
      ? await list(
          '/v1/contacts/list',
          { filters: [is('account_id', id)], page_size: 20, sort: 'last_name' },
          { signal },
        )
      : null;
  const record = answer.body.data;
  await readMentioned(schema, /** @type {API['Change'][]} */ (history.data));
  await readReferences(schema, record);
  if (sequences)
    await Promise.all([
      resolveAll(
        'campaigns',
        sequences.data.map((s) => s.campaign_id),
      ),
      readSteps(sequences.data, signal),
    ]).catch(() => {});
  return {
    kind,
    path,
    schema,
    record,
    contacts,
    etag: answer.headers.get('ETag'),
    history: history.data,
    timeline: timeline?.data || [],
    sequences: sequences?.data || [],
    tags: allTags,
    tab: search.get('tab') || 'all',
    editing: '',
    state: new FormState({}),
  };
}

/** The page of a kind of record. @param {string} name @returns {PageModule} */
export function recordPage(name) {
  const kind = entities[name];
  return {
    title: (model) => nameOf(model.record),
    load: ({ args, search }, signal) => load(kind, args.id, search, signal),
    view,
    keys: (model) => ({
      j: () => beside(model, 1),
      k: () => beside(model, -1),
      e: () => /** @type {HTMLElement | null} */ (document.querySelector('.inline-edit'))?.click(),
    }),
  };
}

/** @param {Item} model */
function view(model) {
  const { record, kind } = model;
  const isContact = kind.entity === 'contacts';
  const subtitle = isContact
    ? [record.title, knownName(record.account_id)].filter(Boolean).join(', ')
    : record.industry || words(record.stage || record.status || '');
  const { at, total } = place(model);
  return html`<div class="page">
    ${heading({
      up: [
        above(model),
        at >= 0 ? `${kind.title}, ${number(at + 1)} of ${number(total)}` : kind.title,
      ],
      title: nameOf(record),
      note: subtitle,
      actions:
        may('write') &&
        html` ${
          kind.entity === 'tasks' &&
          record.status === 'open' &&
          button('Done', () => save(model, 'status', 'completed'), 'primary')
        }
        ${isContact && button('Replied…', () => replied(model))}${
          isContact && !record.do_not_contact && button('Opt out…', () => optOut(model))
        }
        ${button('Delete…', () => deleteRecord(model), 'danger')}`,
    })}
    ${
      record.do_not_contact &&
      html`<p class="notice warn">This contact has opted out and receives nothing.</p>`
    }
    <div class="two">
      ${section(
        'Fields',
        html`<dl class="pairs fields">
          ${keyed(
            ordered(model.schema),
            (f) => f.key,
            (f) => fieldRow(model, f),
          )}
        </dl>`,
      )}
      <div class="section">
        ${isContact && next(model)}${kind.entity === 'accounts' && contactsOf(model)}${past(model)}
      </div>
    </div>
  </div>`;
}

/** The fields, first those that can be changed. @param {Schema} schema */
const ordered = ({ fields }) =>
  fields.filter((f) => f.key !== 'id').sort((a, b) => Number(a.read_only) - Number(b.read_only));

/** Where the record is in the list from which it was opened. @param {Item} model */
function place({ record, kind }) {
  return {
    at: origin.path === kind.path ? origin.ids.indexOf(record.id) : -1,
    total: origin.total,
  };
}

/**
 * The list above the record: the one from which it was opened, with its filters, or that of all.
 * @param {Item} model
 */
const above = (model) => (place(model).at >= 0 ? origin.href : model.kind.path);

/** Goes to the record beside this one in the list. @param {Item} model @param {number} by */
function beside(model, by) {
  const { at } = place(model);
  const id = at >= 0 && origin.ids[at + by];
  if (id) void go(`${model.kind.path}/${id}`, { replace: true });
}

/** The people of an account. @param {Item} model */
const contactsOf = (model) =>
  section(
    'Contacts',
    model.contacts.data.length === 0
      ? soft('No contacts yet.')
      : html`<ul class="list">
          ${model.contacts.data.map(
            (/** @type {Item} */ c) =>
              html`<li>
                <a href=${link(`/contacts/${c.id}`)} dir="auto">${nameOf(c)}</a
                ><span class="soft grow clip" dir="auto">${c.title}</span>
              </li>`,
          )}
        </ul>`,
    html`<a href=${link(`/contacts?f=account_id:is:${model.record.id}`)}
      >${number(model.contacts.pagination.total_count)}</a
    >`,
  );

/** @param {Item} model @param {Field} f */
function fieldRow(model, f) {
  const value = valueAt(model.record, f.key);
  const canEdit = may('write') && !f.read_only && (f.type !== 'multi' || isTexts(f.key));
  if (f.key === 'tags')
    return html`<dt>${f.label}</dt>
      <dd class="chips">${tagChips(model, value || [])}</dd>`;
  const href = linkTo(f, value);
  if (href && model.editing !== f.key) {
    return html`<dt>${f.label}</dt>
      <dd class="linked">
        <a
          class="grow wrap"
          dir="auto"
          href=${href}
          target=${href.startsWith('http') ? '_blank' : null}
          >${display(model, f, value)}</a
        >
        ${
          canEdit &&
          html`<button
            class="button plain"
            type="button"
            aria-label=${`Change: ${f.label}`}
            @click=${() => edit(model, f.key, value)}
          >
            ✎
          </button>`
        }
      </dd>`;
  }
  return html`<dt>${f.label}</dt>
    <dd>
      ${
        model.editing === f.key
          ? editor(model, f, value)
          : canEdit
            ? html`<button
                class="inline-edit"
                type="button"
                dir="auto"
                @click=${() => edit(model, f.key, value)}
              >
                <span class="wrap">${display(model, f, value) || soft('—')}</span>
              </button>`
            : html`<span class="inline-edit wrap" dir="auto"
                >${display(model, f, value) || soft('—')}</span
              >`
      }
    </dd>`;
}

/** Where the value of a field leads. @param {Field} f @param {any} value */
function linkTo(f, value) {
  if (typeof value !== 'string' || !value) return '';
  const page =
    f.type === 'reference' &&
    f.key !== 'id' &&
    (f.reference || guessReference(f.key)).replace('sequence-', '');
  if (page)
    return [
      'accounts',
      'contacts',
      'campaigns',
      'templates',
      'audiences',
      'opportunities',
    ].includes(page)
      ? link(`/${page}/${value}`)
      : '';
  if (f.key === 'email') return `mailto:${value}`;
  if (f.key === 'phone_number') return `tel:${value.replace(/[^+\d]/g, '')}`;
  return /_url$|^website$/.test(f.key) && /^https?:/.test(value) ? value : '';
}

/** The tags, each removable, and a choice of others. @param {Item} model @param {string[]} ids */
function tagChips(model, ids) {
  const others = tagsFor(model.kind.entity, model.tags).filter((tag) => !ids.includes(tag.id));
  return html`${ids
    .map((id) => model.tags.find((/** @type {Item} */ tag) => tag.id === id))
    .filter(Boolean)
    .map(
      (tag) =>
        html`<span class="chip"
          ><span class=${`tag ${tag.color}`}>${tag.name}</span> ${
            may('write') &&
            html`<button
              type="button"
              aria-label=${`Remove the tag ${tag.name}`}
              @click=${() =>
                save(
                  model,
                  'tags',
                  ids.filter((id) => id !== tag.id),
                )}
            >
              ×
            </button>`
          }</span
        >`,
    )}
  ${
    may('write') && others.length > 0
      ? html`<select
          class="small-select"
          aria-label="Add a tag"
          @change=${(e) => e.target.value && save(model, 'tags', [...ids, e.target.value])}
        >
          <option value="">+ Tag</option>
          ${others.map(
            (/** @type {Item} */ tag) => html`<option value=${tag.id}>${tag.name}</option>`,
          )}
        </select>`
      : !ids.length && soft('—')
  }`;
}

/**
 * @param {Item} model
 * @param {Field} f
 * @param {any} value
 */
function display(model, f, value) {
  if (f.type === 'reference' && value) return knownName(value) || value;
  if (/_url$|^website$/.test(f.key) && /^https?:/.test(value || ''))
    return value.replace(/^https?:\/\/(www\.)?/, '');
  if (f.key === 'email' && value)
    return value.split(/(?<=@)/).map((/** @type {string} */ part) => html`<wbr />${part}`);
  if (f.key === 'status' || f.key === 'stage' || f.key === 'scoring.heat_score')
    return value && status(value);
  return show(f, value);
}

/** @param {Item} model @param {string} key */
const isTime = (model, key) =>
  model.schema.fields.find((/** @type {Field} */ f) => f.key === key)?.type === 'datetime';

/** Whether a field is a list of texts, which is written with commas. @param {string} key */
const isTexts = (key) => /^other_(emails|phones|external_ids)$/.test(key);

/**
 * @param {Item} model
 * @param {string} key
 * @param {any} value
 */
function edit(model, key, value) {
  model.editing = key;
  model.state = new FormState({
    [key]: isTime(model, key) ? toInput(value) : isTexts(key) ? (value || []).join(', ') : value,
  });
  model.state.draw = update;
  update();
  setTimeout(
    () => /** @type {HTMLElement | null} */ (document.getElementById('inline'))?.focus(),
    50,
  );
}

/**
 * @param {Item} model
 * @param {Field} f
 * @param {any} before
 */
function editor(model, f, before) {
  const allowed = allowedValues(f);
  const finish = () => {
    const typed = model.state.values[f.key];
    const value = f.type === 'datetime' && typed ? fromInput(typed) : typed;
    if (model.editing !== f.key) return;
    if (isTexts(f.key)) return void save(model, f.key, listOf(typed));
    if (value === before || (value ?? null) === (before ?? null)) {
      model.editing = '';
      update();
    } else void save(model, f.key, value);
  };
  return html`<form
    @submit=${(e) => {
      e.preventDefault();
      finish();
    }}
    @focusout=${(e) => {
      if (
        !(
          /** @type {HTMLElement} */ (e.currentTarget).contains(
            /** @type {Node} */ (e.relatedTarget),
          )
        )
      )
        finish();
    }}
    @keydown=${(e) => {
      if (e.key === 'Escape') {
        model.editing = '';
        update();
      }
    }}
  >
    ${control({
      id: 'inline',
      name: f.key,
      label: f.label,
      type: isTexts(f.key) ? 'text' : f.type,
      value:
        f.type === 'boolean' ? String(model.state.values[f.key] ?? '') : model.state.values[f.key],
      error: model.state.errors[f.key],
      set: (v) => model.state.set(f.key, v),
      options: f.type === 'boolean' ? yesNo() : allowed.length ? optionsOf(allowed) : undefined,
      reference: f.type === 'reference' ? f.reference || guessReference(f.key) : null,
      rows: f.key === 'notes' || f.key === 'description' ? 5 : undefined,
    })}
    ${
      model.state.errors[f.key] &&
      html`<span class="error"
        >${explain(f.type, model.state.values[f.key], model.state.errors[f.key])}</span
      >`
    }
  </form>`;
}

/**
 * Saves one field, after a question where people would be written to again.
 * @param {any} model
 * @param {string} key
 * @param {any} value
 */
async function save(model, key, value) {
  if (model.isSaving) return;
  if (
    key === 'do_not_contact' &&
    String(value) === 'false' &&
    !(await confirm({
      title: `Allow messages to ${nameOf(model.record)} again?`,
      text:
        'Running campaigns that have not begun with this person begin at once. Where they ' +
        'have stopped, Restart people… of the campaign continues.',
      action: 'Allow messages',
      danger: true,
    }))
  )
    return reload();
  return write(model, key, value);
}

/**
 * Saves one field, if nobody has changed it meanwhile.
 * @param {any} model
 * @param {string} key
 * @param {any} value
 */
async function write(model, key, value) {
  const before = valueAt(model.record, key);
  const f = model.schema.fields.find((/** @type {Item} */ other) => other.key === key);
  const sent = f?.type === 'boolean' ? value === true || value === 'true' : (value ?? null);
  const [first, second] = key.split('.');
  const change = second ? { [first]: { ...model.record[first], [second]: sent } } : { [key]: sent };
  model.isSaving = true;
  try {
    await patch(model.path, change, { match: model.etag });
    model.editing = '';
    toast(`${f?.label || key} saved`, {
      undo: async () => {
        await patch(
          model.path,
          second
            ? { [first]: { ...model.record[first], [second]: before } }
            : { [key]: before ?? null },
        );
        await reload();
      },
    });
    await reload();
  } catch (error) {
    if (error instanceof ApiError && error.status === 412) return conflict(model, f, sent);
    if (error instanceof ApiError && error.details.length)
      model.state.errors[key] = inWords(error.details[0].message);
    else failed(error);
    update();
  } finally {
    model.isSaving = false;
  }
}

/**
 * Somebody else changed the record: asks which value stays, if the field is the same.
 * @param {any} model
 * @param {Field} f
 * @param {any} mine
 */
async function conflict(model, f, mine) {
  model.isSaving = false;
  model.editing = ''; // so that the dialog, which takes the focus, does not save it again
  const [answer, history] = await Promise.all([
    request('GET', model.path),
    getPage(`${model.path}/history?page_size=50`),
  ]);
  const { data } = answer.body;
  const [before, theirs] = [model.record, data].map((record) => valueAt(record, f.key) ?? null);
  const isEqual = (/** @type {any} */ a, /** @type {any} */ b) =>
    JSON.stringify(a) === JSON.stringify(b);
  if (isEqual(theirs, mine)) return reload();
  if (!isEqual(theirs, before)) {
    const last = history.data.find((c) => c.fields?.includes(f.key.split('.')[0]));
    if (f.type === 'reference')
      await resolveAll(f.reference || guessReference(f.key), [mine, theirs].flat());
    if (last) await resolveAll('users', [last.user_id]);
    const who = knownName(last?.user_id) || 'Somebody else';
    const shown = (/** @type {any} */ v) =>
      (f.key === 'tags' ? tagNames(model, v) : display(model, f, v)) || '—';
    const choice = await open(
      (close) =>
        html`<div class="panel">
          <h2>${who} has changed the same field</h2>
          <dl class="pairs">
            <dt>${f.label}, yours</dt>
            <dd class="wrap" dir="auto">${shown(mine)}</dd>
            <dt>${f.label}, by ${who}</dt>
            <dd class="wrap" dir="auto">${shown(theirs)}</dd>
          </dl>
          <div class="buttons">
            ${button('Take theirs', () => close('theirs'))}<button
              class="button primary"
              type="button"
              autofocus
              @click=${() => close('mine')}
            >
              Keep mine
            </button>
          </div>
        </div>`,
      'narrow',
    );
    if (choice === 'theirs') return reload();
    if (!choice) return edit(model, f.key, mine);
  }
  Object.assign(model, { record: data, etag: answer.headers.get('ETag') });
  await write(model, f.key, mine);
}

/** @param {Item} model @param {string[] | null} ids */
const tagNames = (model, ids) =>
  (ids || [])
    .map((id) => model.tags.find((/** @type {Item} */ tag) => tag.id === id)?.name)
    .join(', ');

/**
 * Reads the titles of the steps that come next.
 * @param {Item[]} sequences
 * @param {AbortSignal} signal
 */
const readSteps = (sequences, signal) =>
  Promise.all(
    sequences
      .filter((s) => s.next_due_at)
      .map(async (s) => {
        const { template_id } = await get(`/v1/campaigns/${s.campaign_id}`, { signal });
        const { steps } = await get(`/v1/sequence-templates/${template_id}`, { signal });
        s.step_title = steps.find(
          (/** @type {Item} */ step) => step.index === s.current_step_index,
        )?.title;
      }),
  );

/** What comes next for a contact, and why. @param {Item} model */
function next(model) {
  const isOpen = (/** @type {Item} */ s) => s.status === 'active' || s.status === 'not_started';
  const rows = [...model.sequences].sort((a, b) => Number(isOpen(b)) - Number(isOpen(a)));
  return section(
    'Next',
    html`${!rows.some(isOpen) && html`<p class="soft">${nothingNext(model)}</p>`}
    ${
      rows.length > 0 &&
      html`<ul class="list">
        ${rows.map(
          (s) =>
            html`<li>
              <a href=${link(`/campaigns/${s.campaign_id}`)} dir="auto"
                >${knownName(s.campaign_id)}</a
              >${status(s.reason === 'replied' ? s.reason : s.status)}
              <span class="grow soft"
                >${
                  s.next_due_at
                    ? `${s.step_title || `step ${number((s.current_step_index ?? 0) + 1)}`}, ${dateTime(s.next_due_at)}`
                    : s.reason
                      ? why(s.reason)
                      : ''
                }</span
              >
            </li>`,
        )}
      </ul>`
    }`,
    may('write') &&
      html`<span class="buttons"
        >${button('Add to campaign…', () => actions.campaign(alone(model)))}${[
          'tasks',
          'meetings',
        ].map((name) =>
          button(`New ${entities[name].one}`, () => createFor(model, entities[name])),
        )}</span
      >`,
  );
}

/** The contact as a list in which it is selected. @param {Item} model @returns {any} */
const alone = ({ kind, record }) => ({
  kind,
  count: 1,
  view: { q: nameOf(record) },
  table: { selected: new Set([record.id]), clearSelection() {} },
});

/** Asks for a new record that belongs to the contact. @param {Item} model @param {Entity} kind */
const createFor = async ({ record }, kind) =>
  create(
    { kind, schema: await schemaOf(kind.entity) },
    { contact_id: record.id, account_id: record.account_id },
  );

/** @param {Item} model */
function nothingNext(model) {
  if (model.record.do_not_contact) return 'Nothing will be sent: the contact has opted out.';
  if (!model.record.email) return 'Nothing will be sent: the contact has no email address.';
  const has = (/** @type {string} */ reason) =>
    model.sequences.some((/** @type {Item} */ s) => s.reason === reason);
  if (has('replied')) return `Nothing is planned, because ${nameOf(model.record)} has replied.`;
  return !may('write')
    ? 'Nothing is planned.'
    : has('left_audience')
      ? `Nothing is planned. ${nameOf(model.record)} left the audience of a campaign, which ` +
        'does not go on even for those who come back.'
      : `Nothing is planned. Add ${nameOf(model.record)} to an audience of a campaign.`;
}

/** @param {Item} model */
async function optOut(model) {
  const name = nameOf(model.record);
  if (
    await confirm({
      title: `Opt out ${name}?`,
      text: 'The contact receives nothing any more, from any campaign.',
      action: 'Opt out',
      danger: true,
    })
  ) {
    await patch(model.path, { do_not_contact: true });
    await reload();
  }
}

/** @param {Item} model */
async function replied(model) {
  const running = model.sequences.filter((/** @type {Item} */ s) => s.status === 'active').length;
  if (
    await confirm({
      title: `Record a reply of ${nameOf(model.record)}?`,
      text: plural(running, '{n} running sequence stops.', '{n} running sequences stop.'),
      action: 'Record the reply',
    })
  ) {
    await post(`${model.path}/replied`, {});
    await reload();
  }
}

/** @param {Item} model */
async function deleteRecord(model) {
  const { kind } = model;
  const name = nameOf(model.record);
  const action = `Delete this ${kind.one}`;
  const question = {
    path: model.path,
    title: `Delete ${name}?`,
    text: 'You can restore it from the trash for 30 days. Other records then get their references to it back.',
    action,
  };
  if (kind.entity === 'accounts') {
    if (!(await deleteUsed(question))) return;
  } else {
    if (!(await confirm({ ...question, danger: true }))) return;
    await remove(model.path);
  }
  deleted(name, model.path, `${kind.path}/${model.record.id}`);
  void go(above(model), { replace: true }); // Back does not lead to what is gone
}
