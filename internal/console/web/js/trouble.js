// @ts-check
// Trouble that somebody must know about wherever they are: the mail server and webhooks. Holds are
// on Home.
import { get, list } from './api.js';
import { link } from './router.js';
import { isWatched, may, update } from './state.js';
import { number, why } from './text.js';

/** @typedef {{id: string, title: string, text: string, href: string, isMail?: boolean}} Trouble */

const every = 60_000;

/** What is wrong now. @type {{now: Trouble[]}} */
export const troubles = { now: [] };

/** Reads what is wrong. It is left as it was if the service does not answer. */
export async function readTroubles() {
  if (!may('write')) return;
  const [mail, webhooks] = await Promise.all([
    get('/v1/mail/status').catch(() => null),
    list('/v1/webhooks/subscriptions/list', { page_size: 100 }).catch(() => null),
  ]);
  if (!mail || !webhooks) return;
  troubles.now = [...mailTrouble(mail), ...webhooks.data.flatMap(webhookTrouble)];
  update();
}

/** @param {API['MailStatus']} mail @returns {Trouble[]} */
function mailTrouble({ status, stage }) {
  if (status === 'ok') return [];
  const isUnsure = status === 'delivery_unknown';
  const waits = stage
    ? `Emails wait. It fails at this stage: ${stage}.`
    : 'Emails wait until it answers again.';
  const text = isUnsure ? 'Campaigns are held until somebody releases them.' : waits;
  return [
    {
      id: 'mail',
      title: isUnsure ? 'The mail server does not confirm emails' : 'The mail server does not work',
      text,
      href: link('/settings/mail'),
      isMail: true,
    },
  ];
}

/** @param {API['Subscription']} hook @returns {Trouble[]} */
function webhookTrouble({ id, url, status, disabled_reason, consecutive_failures: failures }) {
  if (status !== 'disabled' && !(status === 'active' && failures > 0)) return [];
  const title = `Webhook ${URL.canParse(url) ? new URL(url).host : url}`;
  const text =
    status === 'disabled'
      ? `switched off: ${why(disabled_reason)}`
      : `the last ${number(failures)} attempts failed`;
  return [{ id, title, text, href: link(`/settings/webhooks/${id}`) }];
}

/** Reads it again and again while somebody looks. */
export function watchTroubles() {
  void readTroubles();
  setInterval(() => {
    if (isWatched()) void readTroubles();
  }, every);
}
