// @ts-check
// Trouble that somebody must know about wherever they are: the mail server and webhooks. Holds are
// on Home.
import { get, list } from './api.js';
import { link } from './router.js';
import { isWatched, may, update } from './state.js';
import { t, why } from './text.js';

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

/** @param {Item} mail @returns {Trouble[]} */
function mailTrouble({ status, stage }) {
  if (status === 'ok') return [];
  const isUnsure = status === 'delivery_unknown';
  const waits = stage
    ? t('Emails wait. It fails at this stage: {stage}.', { stage })
    : t('Emails wait until it answers again.');
  const text = isUnsure ? t('Campaigns are held until somebody releases them.') : waits;
  return [
    {
      id: 'mail',
      title: isUnsure
        ? t('The mail server does not confirm emails')
        : t('The mail server does not work'),
      text,
      href: link('/settings/mail'),
      isMail: true,
    },
  ];
}

/** @param {Item} hook @returns {Trouble[]} */
function webhookTrouble({ id, url, status, disabled_reason, consecutive_failures: failures }) {
  if (status !== 'disabled' && !(status === 'active' && failures > 0)) return [];
  const title = t('Webhook {host}', { host: URL.canParse(url) ? new URL(url).host : url });
  const text =
    status === 'disabled'
      ? t('switched off: {reason}', { reason: why(disabled_reason) })
      : t('the last {n} attempts failed', { n: failures });
  return [{ id, title, text, href: link(`/settings/webhooks/${id}`) }];
}

/** Reads it again and again while somebody looks. */
export function watchTroubles() {
  void readTroubles();
  setInterval(() => {
    if (isWatched()) void readTroubles();
  }, every);
}
