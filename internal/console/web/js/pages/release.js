// @ts-check
// Releasing a held campaign. The service says which choices it needs. None of them is made in
// advance, because each decides whether people get a message, and each says how many it concerns.
import { ApiError, post } from '../api.js';
import { form } from '../components/dialog.js';
import { html } from '../dom.js';
import { plural } from '../text.js';

/** @typedef {`/v1/campaigns/${string}/release`} ReleasePath */
/** @typedef {{value: string, text: (counts: API['Released']) => string}} Choice */
/** @typedef {{name: string, title: (counts: API['Released']) => string, choices: Choice[]}} Question */

/**
 * What a release can decide. The counts of a title are those of the first choice.
 * @type {Question[]}
 */
const questions = [
  {
    name: 'captured',
    title: (n) =>
      plural(
        n.to_restart,
        '{n} person has emails that were captured and never arrived',
        '{n} people have emails that were captured and never arrived',
      ),
    choices: [
      {
        value: 'restart',
        text: (n) =>
          plural(
            n.to_restart,
            'Begin again: {n} person gets the emails from the first one on',
            'Begin again: {n} people get the emails from the first one on',
          ),
      },
      {
        value: 'keep',
        text: () =>
          'Go on: they never get what was captured, and the next step is the first that reaches them',
      },
    ],
  },
  {
    name: 'unknown',
    title: (n) =>
      plural(
        n.may_duplicate,
        'For {n} email nobody knows whether it arrived',
        'For {n} emails nobody knows whether they arrived',
      ),
    choices: [
      {
        value: 'retry',
        text: (n) =>
          plural(
            n.may_duplicate,
            'Send {n} email again, which may then arrive twice',
            'Send {n} emails again, which may then arrive twice',
          ),
      },
      { value: 'sent', text: () => 'Take them as delivered: the next email replies to them' },
      { value: 'keep', text: () => 'Leave them: the next email begins a new conversation' },
    ],
  },
  {
    name: 'overdue',
    title: (n) => plural(n.to_send, '{n} step is overdue', '{n} steps are overdue'),
    choices: [
      {
        value: 'send',
        text: (n) =>
          plural(n.to_send, 'Do it now: {n} email or task', 'Do them now: {n} emails and tasks'),
      },
      {
        value: 'skip',
        text: (n) =>
          plural(
            n.to_skip,
            'Skip {n} step: it never happens, and the next one goes on',
            'Skip {n} steps: they never happen, and the next ones go on',
          ),
      },
    ],
  },
];

/**
 * Asks how a held campaign goes on, and releases it.
 * @param {API['Campaign']} campaign
 * @returns {Promise<unknown>} null if it was not released
 */
export async function release(campaign) {
  const path = /** @type {const} */ (`/v1/campaigns/${campaign.id}/release`);
  const asked = await required(path);
  /** @type {Record<string, API['Released']>} */
  let counts = await count(path, asked, {});
  return form({
    title: `Release ${campaign.name}`,
    action: 'Release',
    isReady: ({ values }) => shown(asked, counts).every(({ name }) => values[name]),
    body: (state) =>
      html` ${
        asked.length === 0 && html`<p>Nothing is overdue. The campaign goes on as planned.</p>`
      }
      ${shown(asked, counts).map((question) =>
        radios(question, counts, state.values[question.name], async (value) => {
          state.set(question.name, value);
          counts = await count(path, asked, state.values);
          state.draw();
        }),
      )}`,
    submit: ({ values, key }) => {
      const chosen = shown(asked, counts).map(({ name }) => [name, values[name]]);
      return post(path, Object.fromEntries(chosen), { key });
    },
  });
}

/** The questions that the service wants answered. @param {ReleasePath} path */
async function required(path) {
  try {
    await post(path, { dry_run: true });
    return [];
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'validation_failed') throw error;
    const names = error.details.map((detail) => detail.path);
    return questions.filter(({ name }) => names.includes(name));
  }
}

/**
 * What each choice does, given those that are made. Others count as the last choice, which sends
 * nothing.
 * @param {ReleasePath} path
 * @param {Question[]} asked
 * @param {Values} values
 */
async function count(path, asked, values) {
  const others = Object.fromEntries(
    asked.map(({ name, choices }) => [name, values[name] || choices.at(-1)?.value]),
  );
  /** @type {Record<string, API['Released']>} */
  const counts = {};
  await Promise.all(
    asked.flatMap(({ name, choices }) =>
      choices.map(async ({ value }) => {
        counts[`${name} ${value}`] = await post(path, { ...others, [name]: value, dry_run: true });
      }),
    ),
  );
  return counts;
}

/**
 * The questions that matter after what was chosen: what begins again is not overdue any more.
 * @param {Question[]} asked
 * @param {Record<string, API['Released']>} counts
 */
const shown = (asked, counts) =>
  asked.filter(({ name }) => name !== 'overdue' || counts['overdue send'].to_send > 0);

/**
 * @param {Question} question
 * @param {Record<string, API['Released']>} counts
 * @param {string | undefined} chosen
 * @param {(value: string) => void} choose
 */
function radios({ name, title, choices }, counts, chosen, choose) {
  const of = (/** @type {Choice} */ { value }) => counts[`${name} ${value}`];
  return html`<fieldset class="choices">
    <legend>${title(of(choices[0]))}</legend>
    ${choices.map(
      (choice) =>
        html`<label class="check"
          ><input
            type="radio"
            name=${name}
            value=${choice.value}
            .checked=${chosen === choice.value}
            @change=${() => choose(choice.value)}
          />
          <span>${choice.text(of(choice))}</span></label
        >`,
    )}
  </fieldset>`;
}
