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
import { plural } from '../text.js';

/** What is done at each stage of a connection. @type {Record<string, string>} */
const stages = {
  settings: 'Read the settings',
  connect: 'Connect',
  TLS: 'Encrypt the connection',
  greeting: 'Wait for the greeting',
  EHLO: 'Greet the server',
  STARTTLS: 'Encrypt the connection',
  login: 'Sign in',
  'MAIL FROM': 'Name the sender',
  message: 'Send the message',
};
/** @param {string} name */
const stageName = (name) => stages[name] || name;

/** @param {AbortSignal} signal */
export const loadMail = (signal) => get('/v1/mail/status', { signal });

/** The state of mail in a word and a sentence. @param {API['MailStatus']} mail */
function summary({ transport, status: now, stage, retry_at }) {
  if (transport === 'outbox')
    return [
      status('captured'),
      'Emails are kept in the outbox, and nothing is sent. An operator sets up a mail server.',
    ];
  if (now === 'delivery_unknown')
    return [
      status('failed', 'not confirmed'),
      'The mail server took emails and did not confirm them. Campaigns are held until somebody releases them.',
    ];
  if (now !== 'ok')
    return [
      status('failed', 'does not work'),
      stage
        ? `Emails wait. The mail server fails at this stage: ${stageName(stage)}.`
        : 'Emails wait until the mail server answers again.',
      retry_at && `The next attempt is at ${dateTime(retry_at)}.`,
    ];
  return [status('active', 'works'), 'Emails go out.'];
}

/** @param {API['MailStatus']} mail */
export function mailView(mail) {
  const [word, ...sentences] = summary(mail);
  const held = mail.held_campaigns;
  return html`<section class="section">
    ${pairs([
      ['Mail server', word],
      ['Now', sentences.filter(Boolean).join(' ')],
      ['On their way', plural(mail.in_flight, '1 email', '{n} emails')],
      [
        'Held',
        held
          ? html`<a href=${link('/campaigns')}>${plural(held, '1 campaign', '{n} campaigns')}</a>`
          : 'no campaign',
      ],
    ])}
    ${may('admin') && html`<p class="buttons">${button('Send a test…', test, 'primary')}</p>`}
  </section>`;
}

/** Tries the mail server, and shows how far it came. */
async function test() {
  const tried = await form({
    title: 'Test the mail server',
    action: 'Test',
    body: (state) =>
      field(state, {
        name: 'to',
        label: 'Send to',
        type: 'email',
        help: 'Without an address the test only connects and signs in. A test message counts for your daily cap.',
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
  const title = last.ok ? 'The test succeeded' : `The test failed: ${stageName(last.stage)}`;
  return html`<div class="panel">
    <h2>${isCaptured ? 'There is no mail server' : title}</h2>
    ${
      isCaptured
        ? html`<p>Emails are kept in the outbox, so nothing was sent.</p>`
        : table(
            ['Stage', 'Result', 'Answer of the server'],
            passed.map(({ stage, ok, detail }) => [
              stageName(stage),
              ok ? status('sent', 'done') : status('failed'),
              detail || '—',
            ]),
          )
    }
    <div class="buttons">${button('Done', close, 'primary')}</div>
  </div>`;
}
