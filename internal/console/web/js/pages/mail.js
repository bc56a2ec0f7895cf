// @ts-check
// Settings, mail: whether emails go out, and a test of the mail server.
import { get, post } from '../api.js';
import { form, open } from '../components/dialog.js';
import { field } from '../components/field.js';
import { button, pairs, status, table } from '../components/parts.js';
import { html } from '../dom.js';
import { dateTime } from '../format.js';
import { link, reload } from '../router.js';
import { may } from '../state.js';
import { t, tn } from '../text.js';

/** What is done at each stage of a connection. @type {Record<string, string>} */
const stages = {
  settings: t('Read the settings'),
  connect: t('Connect'),
  TLS: t('Encrypt the connection'),
  greeting: t('Wait for the greeting'),
  EHLO: t('Greet the server'),
  STARTTLS: t('Encrypt the connection'),
  login: t('Sign in'),
  'MAIL FROM': t('Name the sender'),
  message: t('Send the message'),
};
/** @param {string} name */
const stageName = (name) => stages[name] || name;

/** @param {AbortSignal} signal */
export const loadMail = (signal) => get('/v1/mail/status', { signal });

/** The state of mail in a word and a sentence. @param {Item} mail */
function summary({ transport, status: now, stage, retry_at }) {
  if (transport === 'outbox')
    return [
      status('captured'),
      t('Emails are kept in the outbox, and nothing is sent. An operator sets up a mail server.'),
    ];
  if (now === 'delivery_unknown')
    return [
      status('failed', t('not confirmed')),
      t(
        'The mail server took emails and did not confirm them. Campaigns are held until somebody releases them.',
      ),
    ];
  if (now !== 'ok')
    return [
      status('failed', t('does not work')),
      stage
        ? t('Emails wait. The mail server fails at this stage: {stage}.', {
            stage: stageName(stage),
          })
        : t('Emails wait until the mail server answers again.'),
      retry_at && t('The next attempt is at {when}.', { when: dateTime(retry_at) }),
    ];
  return [status('active', t('works')), t('Emails go out.')];
}

/** @param {Item} mail */
export function mailView(mail) {
  const [word, ...sentences] = summary(mail);
  const held = mail.held_campaigns;
  return html`<section class="section">
    ${pairs([
      [t('Mail server'), word],
      [t('Now'), sentences.filter(Boolean).join(' ')],
      [t('On their way'), tn(mail.in_flight, '1 email', '{n} emails')],
      [
        t('Held'),
        held
          ? html`<a href=${link('/campaigns')}>${tn(held, '1 campaign', '{n} campaigns')}</a>`
          : t('no campaign'),
      ],
    ])}
    ${may('admin') && html`<p class="buttons">${button(t('Send a test…'), test, 'primary')}</p>`}
  </section>`;
}

/** Tries the mail server, and shows how far it came. */
async function test() {
  const tried = await form({
    title: t('Test the mail server'),
    action: t('Test'),
    body: (state) =>
      field(state, {
        name: 'to',
        label: t('Send to'),
        type: 'email',
        help: t(
          'Without an address the test only connects and signs in. A test message counts for your daily cap.',
        ),
      }),
    submit: ({ values, key }) => post('/v1/mail/test', values.to ? { to: values.to } : {}, { key }),
  });
  if (!tried) return;
  await open((close) => outcome(tried.stages, () => close(null)));
  await reload();
}

/** @param {{stage: string, ok: boolean, detail: string}[]} passed @param {() => void} close */
function outcome(passed, close) {
  const last = passed[passed.length - 1];
  const isCaptured = last.stage === 'transport';
  const title = last.ok
    ? t('The test succeeded')
    : t('The test failed: {stage}', { stage: stageName(last.stage) });
  return html`<div class="panel">
    <h2>${isCaptured ? t('There is no mail server') : title}</h2>
    ${
      isCaptured
        ? html`<p>${t('Emails are kept in the outbox, so nothing was sent.')}</p>`
        : table(
            [t('Stage'), t('Result'), t('Answer of the server')],
            passed.map(({ stage, ok, detail }) => [
              stageName(stage),
              ok ? status('sent', t('done')) : status('failed'),
              detail || '—',
            ]),
          )
    }
    <div class="buttons">${button(t('Done'), close, 'primary')}</div>
  </div>`;
}
