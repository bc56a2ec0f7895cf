// @ts-check
// What a new template can start with, and the steps that are added to one.

/** @typedef {import('./template.js').DraftStep} DraftStep */

/** An email in the morning. */
export const email = (/** @type {string} */ subject, /** @type {string} */ message) => ({
  type: /** @type {const} */ ('auto_email'),
  title: 'Email',
  day: 0,
  hour: 9,
  subject,
  message,
});

/** How emails begin and end. */
export const hello = 'Hello {{recipient.first_name|there}},\n\n';
export const bye = '\n\n{{sender.first_name}}';

const question = 'A question about {{recipient.company|your company}}';

/**
 * What a new template can start with: its name, its steps, and how many business days after which
 * step the next one follows.
 * @type {[string, Omit<DraftStep, 'index'>[], [number, number][]][]}
 */
export const starters = [
  [
    'Three emails',
    [
      email(question, `${hello}who looks after this?${bye}`),
      email('', `${hello}did this reach you?${bye}`),
      email('My last email', `${hello}I will not write again.${bye}`),
    ],
    [
      [0, 3],
      [1, 5],
    ],
  ],
  [
    'An email and a call',
    [
      email(question, `${hello}may I call you this week?${bye}`),
      {
        type: 'call',
        title: 'Call',
        day: 0,
        hour: 14,
        message: 'Ask {{recipient.first_name}} about the email.',
      },
    ],
    [[0, 2]],
  ],
  ['One email', [email('Hello {{recipient.first_name|there}}', `${hello}…${bye}`)], []],
];

/**
 * A step that follows another after business days.
 * @param {number} from
 * @param {number} to
 * @param {number} delay
 * @returns {API['Transition']}
 */
export const transition = (from, to, delay) => ({
  from_step_index: from,
  to_step_index: to,
  transition_type: 'PREVIOUS_STEP_COMPLETES',
  pre_check_time_unit: 'business_days',
  pre_check_delay: delay,
  post_check_time_unit: null,
  post_check_delay: 0,
  require_all: false,
});
