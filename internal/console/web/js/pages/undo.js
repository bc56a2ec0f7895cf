// @ts-check
// What operations did in words, how they are followed to their end, and their undo.
import { ApiError, get, is, list, messageOf, newKey, post } from '../api.js';
import { open } from '../components/dialog.js';
import { button, failed, table, toast } from '../components/parts.js';
import { html } from '../dom.js';
import { follow } from '../foot.js';
import { words } from '../format.js';
import { current, go, link, reload } from '../router.js';
import { may } from '../state.js';
import { number, plural } from '../text.js';
import { sentence } from '../uses.js';
import { entities, kindOf, namesOf } from './entities.js';

/** What one and several records of an operation are called. @param {string | null} entity */
function namesIn(entity) {
  const kind = entity && kindOf(entity);
  const name = words(entity || '').toLowerCase();
  return kind ? namesOf(kind) : { kind: name || 'record', title: name || 'records' };
}

/**
 * The sentences for kinds of operations, for one record and for several.
 * @type {Record<string, [string, string]>}
 */
const did = {
  update: ['Changed {n} {kind}', 'Changed {n} {title}'],
  delete: ['Deleted {n} {kind}', 'Deleted {n} {title}'],
  restore: ['Restored {n} {kind}', 'Restored {n} {title}'],
  import: ['Imported {n} {kind}', 'Imported {n} {title}'],
  tam_import: ['Imported {n} record of a market', 'Imported {n} records of a market'],
  template: ['Brought the newest text to {n} person', 'Brought the newest text to {n} people'],
  erasure: ['Erased a person: {n} record', 'Erased a person: {n} records'],
  merge: ['Merged {n} {kind}', 'Merged {n} {title}'],
  undo: ['Undo: put back {n} {kind}', 'Undo: put back {n} {title}'],
};

/** What an operation did. @param {Operation} o */
export function titleOf({ kind, entity, matched, changed, undone }) {
  const n = { merge: matched, undo: undone }[/** @type {string} */ (kind)] ?? changed;
  return plural(n, ...did[kind], namesIn(entity));
}

/** Whether an operation can be undone now. @param {Operation | null | undefined} o */
export const isUndoable = (o) => may('write') && o?.undoable_until && !o.undone_by;

/**
 * The operation with an id, or undefined if it is not kept any more.
 * @param {string} id
 * @param {AbortSignal} [signal]
 * @returns {Promise<Operation | undefined>}
 */
export const operationWith = async (id, signal) =>
  (await list('/v1/operations/list', { filters: [is('id', id)], page_size: 1 }, { signal }))
    .data[0];

/**
 * Reads whether the undo of an operation was itself undone, which the operation does not say.
 * @param {Operation | undefined} o
 * @param {AbortSignal} [signal]
 */
export async function readUndone(o, signal) {
  if (o?.undone_by) o.isBack = Boolean((await operationWith(o.undone_by, signal))?.undone_by);
}

/** That an operation was undone. @param {Operation | undefined} o */
export const undoneNote = (o) =>
  o?.undone_by &&
  html`<p class="notice">
    ${o.isBack ? 'This was undone, and the undo was undone, too.' : 'This was undone.'}
    <a href=${link(`/operations/${o.undone_by}`)}>Show the undo</a>
  </p>`;

/**
 * Why an undo leaves records as they are, or a new text people, one sentence for each reason.
 * @param {Record<string, number> | null} kept
 * @returns {string[]}
 */
export function keptBecause(kept) {
  /** @type {[string, string, string][]} */
  const reasons = [
    [
      'changed_since',
      '{n} record was changed since. What was changed stays.',
      '{n} records were changed since. What was changed stays.',
    ],
    [
      'in_use_since',
      '{n} new record is in use and stays: by a message, a task, a meeting, an opportunity or a contact.',
      '{n} new records are in use and stay: by a message, a task, a meeting, an opportunity or a contact.',
    ],
    [
      'opted_out',
      '{n} contact has opted out or has a suppressed address. That stays.',
      '{n} contacts have opted out or have a suppressed address. That stays.',
    ],
    [
      'not_possible',
      'Something that {n} record had is gone or taken: a tag, an account, an owner, a field or an external ID.',
      'Something that {n} records had is gone or taken: a tag, an account, an owner, a field or an external ID.',
    ],
    [
      'sent_step_gone',
      '{n} person keeps the earlier text: a step that has happened is not in the template any more.',
      '{n} people keep the earlier text: a step that has happened is not in the template any more.',
    ],
    [
      'order_changed',
      '{n} person keeps the earlier text: a step that has happened would come after one that has not.',
      '{n} people keep the earlier text: a step that has happened would come after one that has not.',
    ],
    [
      'gone',
      '{n} record was deleted permanently or erased.',
      '{n} records were deleted permanently or erased.',
    ],
  ];
  return reasons
    .filter(([reason]) => kept?.[reason])
    .map(([reason, one, other]) => plural(kept?.[reason] ?? 0, one, other));
}

/** Sentences, one below the other. @param {string[]} lines */
export const sentences = (lines) =>
  lines.length > 0 &&
  html`<ul class="list">
    ${lines.map((line) => html`<li>${line}</li>`)}
  </ul>`;

/** Why records could not be changed. @param {Operation} o @param {() => void} [leave] */
export const problemsOf = ({ entity, problems }, leave) =>
  problems.length > 0 &&
  table(
    ['Problem', 'Records', 'For example'],
    problems.map((p) => [
      p.code === 'in_use' ? sentence(p.message) : p.message,
      number(p.count || 1),
      p.first_id && entity && entities[entity]
        ? html`<a href=${link(`${entities[entity].path}/${p.first_id}`)} @click=${leave}>Open</a>`
        : '',
    ]),
  );

/**
 * Follows an operation to its end, and says then what it has done, what it has not, and offers to
 * undo it.
 * @param {string} id
 * @param {{
 *   href: string,
 *   label: string,
 *   done: (o: Operation) => string,
 *   seen?: () => void,
 *   more?: (o: Operation, close: () => void) => unknown,
 * }} work more is what can be done about what it has not done
 */
export function followOperation(id, { done, more, ...work }) {
  const path = `/v1/operations/${id}`;
  const result = (/** @type {Operation} */ o) => {
    const failures = o.failed ? `, ${number(o.failed)} could not be changed` : '';
    const end = o.status === 'completed' ? '' : ` (${o.status})`;
    return done(o) + failures + end;
  };
  follow({
    ...work,
    read: path,
    cancel: () => post(`${path}/cancel`, {}),
    done: result,
    ended: (/** @type {Operation} */ o) => {
      const kept = keptBecause(o.kept);
      if (!o.failed && kept.length === 0)
        return toast(result(o), { bad: o.status !== 'completed', undo: undoOf(o) });
      void open(
        (close) =>
          html`<div class="panel">
            <h2>${result(o)}</h2>
            ${sentences(kept)}${problemsOf(o, () => close(null))}${more?.(o, () => close(null))}
            <div class="buttons">
              ${
                isUndoable(o) &&
                button('Undo…', () => {
                  close(null);
                  return askUndo(o);
                })
              }${button('Close', () => close(null))}
            </div>
          </div>`,
      );
    },
  });
}

/**
 * Says that a record was deleted, and offers to restore it.
 * @param {string} name
 * @param {string} path of the record in the API
 * @param {string} [href] of its page; without one, the page that is shown is read again
 */
export function deleted(name, path, href) {
  toast(`${name} deleted`, {
    undo: async () => {
      await restore(path);
      await (href ? go(href) : reload());
    },
  });
}

/** Restores a record, when it has been taken out of all others. @param {string} path */
async function restore(path) {
  for (let left = 20; ; left--) {
    try {
      return await post(`${path}/restore`, {}, { key: newKey() });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'unavailable' || !left) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

/** The undo of a message about an operation, if it can be undone. @param {Operation} o */
export const undoOf = (o) => (isUndoable(o) ? () => void undo(o).catch(failed) : undefined);

/** Undoes an operation, and says on the page that is shown what was put back. @param {Operation} o */
async function undo({ id }) {
  const href = current.params.path;
  const made = await begin(id, false);
  followOperation(made.id, {
    href,
    label: 'Undoing',
    done: ({ undone }) => plural(undone, '{n} record put back', '{n} records put back'),
  });
}

/**
 * Starts an undo, when what the operation left to do in the background is done.
 * @param {string} id
 * @param {boolean} dry_run
 * @returns {Promise<Operation>}
 */
async function begin(id, dry_run) {
  for (let left = 20; ; left--) {
    try {
      return await post(`/v1/operations/${id}/undo`, { dry_run }, { key: newKey() });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'operation_running' || !left) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

/**
 * Counts what an undo would put back.
 * @param {string} id
 * @param {() => boolean} isWanted
 * @returns {Promise<Operation>}
 */
async function tryUndo(id, isWanted) {
  let trial = await begin(id, true);
  while (trial.status === 'running' && isWanted()) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    trial = await get(`/v1/operations/${trial.id}`);
  }
  return trial;
}

/** Says what the undo of an operation would do, and undoes it on request. @param {Operation} o */
export async function askUndo(o) {
  /** @type {Operation | undefined} */
  let trial;
  /** @type {unknown} */
  let problem;
  let redraw = () => {};
  let isOpen = true;
  const answer = open((close, draw) => {
    redraw = draw;
    return html`<div class="panel">
      <h2>Undo: ${titleOf(o)}</h2>
      ${
        problem
          ? refusal(problem, () => close(null))
          : trial
            ? forecast(o, trial)
            : html`<p role="status">
                Looking what can be put back…
                <progress aria-label="Progress"></progress>
              </p>`
      }
      <div class="buttons">
        ${button('Cancel', () => close(null))}${
          Number(trial?.undone) > 0 &&
          button(
            plural(Number(trial?.undone), 'Undo for {n} record', 'Undo for {n} records'),
            () => close(true),
            'primary',
          )
        }
      </div>
    </div>`;
  });
  void tryUndo(o.id, () => isOpen)
    .then(
      (item) => {
        trial = item;
      },
      (error) => {
        problem = error;
      },
    )
    .then(() => redraw());
  const isSure = await answer;
  isOpen = false;
  if (isSure) await undo(o);
}

/**
 * What becomes of records, by the kind of the operation that is undone.
 * @type {Record<string, string>}
 */
const back = {
  update: 'Fields get the values that they had before.',
  delete: 'Deleted records come back from the trash.',
  restore: 'Restored records go to the trash again.',
  import: 'Added records go to the trash, changed ones get their values back.',
  tam_import: 'Added records go to the trash.',
  merge: 'Merged records come back with what belonged to them.',
  undo: 'Records are again as before the undo.',
};

/**
 * What an undo would put back and what it would leave.
 * @param {Operation} o the operation
 * @param {Operation} trial
 */
const forecast = ({ kind }, { undone, kept }) =>
  html`<p>
      ${
        undone > 0
          ? `${plural(undone, '{n} record is put back.', '{n} records are put back.')} ${back[kind]}`
          : 'Nothing can be put back.'
      }
    </p>
    ${sentences(keptBecause(kept))}
    <p class="soft">
      Nobody is written to because of an undo, and it can be undone too. Sequences that have stopped
      stay so: Restart people… of a campaign continues them.
    </p>`;

/**
 * Why an operation cannot be undone, with the one that comes first.
 * @param {unknown} error
 * @param {() => void} leave
 */
function refusal(error, leave) {
  const { code, details } = error instanceof ApiError ? error : { code: '', details: [] };
  const other = details[0]?.id;
  const reason =
    code === 'undo_conflict'
      ? 'The merged record was merged again or deleted since.'
      : code === 'already_undone'
        ? 'It was undone already.'
        : messageOf(error);
  return html`<p class="notice bad" role="alert">
    ${reason}
    ${
      other &&
      html`<a href=${link(`/operations/${other}`)} @click=${leave}
        >${code === 'undo_conflict' ? 'Undo this first' : 'Show the undo'}</a
      >`
    }
  </p>`;
}
