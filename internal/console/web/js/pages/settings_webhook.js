// @ts-check
// Settings, a webhook: its attempts, and what can be done with it.
import { patch, post, remove } from '../api.js';
import { confirm } from '../components/dialog.js';
import { button, empty, heading, status, table, tabs, toast, when } from '../components/parts.js';
import { html } from '../dom.js';
import { go, reload } from '../router.js';
import { may } from '../state.js';
import { plural, why } from '../text.js';
import { asked, done, later, notLater, showOnce } from './settings_questions.js';

/**
 * What the page of a webhook knows. filter is the status of the attempts that it shows.
 * @typedef {{
 *   path: WebhookPath,
 *   subscription: API['Subscription'],
 *   attempts: {data: API['Attempt'][]},
 *   filter: string | null,
 * }} Webhook
 */
/** @typedef {`/v1/webhooks/subscriptions/${string}`} WebhookPath */

/** @param {Webhook} model */
export function webhookView({ path, subscription: s, attempts, filter }) {
  const at = `/settings/webhooks/${s.id}`;
  return html`<div class="page">
    ${heading({
      up: ['/settings/webhooks', 'Webhooks'],
      title: s.url,
      note: html`${status(s.status)} ${s.triggers.join(', ')}`,
      needs: 'admin',
      actions: webhookActions(path, s),
    })}
    ${s.disabled_reason && html`<p class="notice bad">Disabled: ${why(s.disabled_reason)}.</p>`}
    ${
      s.consecutive_failures > 0 &&
      html`<p class="notice bad">
        ${plural(
          s.consecutive_failures,
          'The last attempt failed, {when}.',
          'The last {n} attempts failed, most recently {when}.',
          { when: when(s.last_failure_at) },
        )}
      </p>`
    }
    ${tabs([
      ['All attempts', at, !filter],
      ['Failed', `${at}?status=failed`, filter === 'failed'],
      ['Filter and export', `/settings/webhooks/deliveries?f=subscription_id:is:${s.id}`, false],
    ])}
    ${attemptRows(path, attempts.data)}
  </div>`;
}

/**
 * The attempts to deliver events, each of which can be repeated.
 * @param {WebhookPath} path
 * @param {API['Attempt'][]} attempts
 */
const attemptRows = (path, attempts) =>
  attempts.length === 0
    ? empty('Nothing was delivered yet.')
    : table(
        ['When', 'Event', 'Attempt', 'Result', 'Duration', ''],
        attempts.map((a) => [
          when(a.created_at),
          a.trigger_key,
          a.attempt,
          html`${status(a.status)}
            <span class="soft"
              >${(a.error || a.response_code || '').toString().replace(/^\w+: /, '')}</span
            >`,
          `${a.duration_ms} ms`,
          may('admin') &&
            button(
              'Redeliver',
              done(async () => {
                await post(`${path}/deliveries/${a.id}/redeliver`, {});
                later();
              }),
            ),
        ]),
      );

/** What can be done with a webhook. @param {WebhookPath} path @param {API['Subscription']} s */
export const webhookActions = (path, s) =>
  html`${button(
    'Test',
    done(async () => {
      await post(`${path}/test`, {});
      toast('A test event is on its way');
      later();
    }),
  )}
  ${button(
    s.status === 'active' ? 'Pause' : 'Activate',
    done(() => patch(path, { status: s.status === 'active' ? 'paused' : 'active' })),
  )}
  ${button('Redeliver failed…', () => redeliverFailed(path))}
  ${button(
    'Rotate the secret…',
    asked('Make a new secret? The old one works for another day.', 'Rotate', async () => {
      const made = await post(`${path}/rotate-secret`, {});
      await showOnce('The new secret', made.secret ?? '', 'It is shown only once.');
    }),
  )}
  ${button(
    'Delete…',
    async () => {
      if (await confirm({ action: 'Delete the webhook', danger: true })) {
        notLater();
        await remove(path);
        await go('/settings/webhooks');
      }
    },
    'danger',
  )}`;

/** Sends the events again that were given up in the last week. @param {WebhookPath} path */
async function redeliverFailed(path) {
  const since = new Date(Date.now() - 7 * 24 * 60 * 60 * 1000).toISOString();
  const { queued: n } = await post(`${path}/redeliver-failed`, { since, dry_run: true });
  if (n === 0)
    return toast(
      'No event was given up in the last week. Failed attempts are repeated automatically.',
    );
  if (
    !(await confirm({
      title: plural(
        n,
        'Redeliver {n} event of the last week?',
        'Redeliver {n} events of the last week?',
      ),
      action: plural(n, 'Redeliver {n} event', 'Redeliver {n} events'),
    }))
  )
    return;
  await post(`${path}/redeliver-failed`, { since });
  await reload();
  later();
}
