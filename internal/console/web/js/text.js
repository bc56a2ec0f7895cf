// @ts-check
// What texts need besides words: plural forms, numbers, and the reasons of the API.

const plurals = new Intl.PluralRules('en');

/**
 * A text that depends on a number, which is `{n}` in it. Other placeholders are the names of values.
 * @param {number} n
 * @param {string} one
 * @param {string} other
 * @param {Record<string, unknown>} [values]
 */
export function plural(n, one, other, values = {}) {
  /** @type {Record<string, unknown>} */
  const all = { n, ...values };
  return (plurals.select(n) === 'one' ? one : other).replace(/\{(\w+)\}/g, (placeholder, name) => {
    const value = all[name];
    return typeof value === 'number' ? number(value) : name in all ? String(value) : placeholder;
  });
}

const numbers = new Intl.NumberFormat('en');

/** @param {number} n */
export function number(n) {
  return numbers.format(n);
}

// Why something was left out, held, stopped, skipped or has failed, by the API's name of the
// reason.
/** @type {Record<string, string>} */
const reasons = {
  already_in_tam: 'is among your records already',
  suppressed: 'the address or the domain is suppressed',
  no_matching_titles: 'nobody has a matching title',
  qualifier_not_matched: 'the answer to the question does not match',
  qualifier_failed: 'the question was not answered',
  excluded_by_user: 'excluded by a user',
  duplicate_row: 'appears twice',
  not_selected: 'not selected',
  catalogue_empty: 'the catalog is empty',
  too_many_members: 'more than 500,000 companies and people match',
  signal_deleted: 'the field that asks the question was deleted',
  view_deleted: 'a view that the market uses was deleted',
  tag_deleted: 'a tag that the market uses was deleted',
  internal: 'an error in the service',
  restored: 'it was restored from a backup',
  copied: 'the store file was copied',
  transport_changed: 'the mail transport was changed',
  sender_refused: 'the mail server refuses the sender',
  bounce_rate: 'too many messages bounce',
  owner_inactive: 'the owner is deactivated',
  mailbox_unusable: 'the mailbox cannot be used',
  opted_out: 'has opted out',
  no_address: 'has no email address',
  duplicate_address: 'another contact has the same address',
  left_audience: 'left the audience',
  contact_deleted: 'the contact was deleted',
  campaign_ended: 'the campaign has ended',
  campaign_archived: 'the campaign was archived',
  replied: 'has replied',
  manual: 'stopped by a user',
  delivery_unknown: 'the mail server does not say whether messages arrived',
  sender_not_allowed: 'the sender is outside the allowed domains',
  imported: 'it came from another installation',
  moved: 'it was moved to another installation',
  awaiting_confirmation: 'waits for your confirmation',
  missing_value: 'a value in the text is missing',
  no_owner: 'the campaign has no owner',
  never_due: 'never comes due',
  waits_for_held_step: 'waits for a step that is held',
  backlog: 'too many deliveries are waiting',
  gone: 'the endpoint says that it is gone',
  failing: 'every attempt failed for five days',
  not_in_catalogue: 'the catalog does not say',
  question_not_answerable: 'no field answers the question; it takes a model',
  provider_not_configured: 'no provider is set up',
  provider_unreachable: 'the provider cannot be reached',
  invalid_answer: 'the answer does not fit the field',
  no_answer: 'the provider gave no answer',
  not_known: 'the provider does not know',
  connection_broken: 'the connection to the provider broke',
  timeout: 'the provider did not answer in time',
  answer_too_large: 'the answer is too large',
  refused: 'the provider refused to answer',
  cut_off: 'the answer was cut off',
};

/** A reason in words. @param {string | null | undefined} reason */
export function why(reason) {
  const name = (reason || '').toLowerCase();
  const [, code] = /^http_(\d+)$/.exec(name) || [];
  if (code) return `the provider answered with status ${code}`;
  return reasons[name] || name.replaceAll('_', ' ');
}
