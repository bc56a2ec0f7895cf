// @ts-check
// Starts the console: signs in, shows the navigation and the page of the address.
import { ApiError, forgetAll, get, hooks, messageOf, post, remove } from './api.js';
import { form, open } from './components/dialog.js';
import { field } from './components/field.js';
import { button } from './components/parts.js';
import { html, render } from './dom.js';
import { startFoot } from './foot.js';
import { setZone } from './format.js';
import { routes } from './pages/routes.js';
import { cancel, current, go, link, reload, start } from './router.js';
import { addKeys, may, onUpdate, prefer, readPreferences, session, update } from './state.js';
import { plural } from './text.js';
import { troubles, watchTroubles } from './trouble.js';
import { watchUses } from './uses.js';

const app = /** @type {HTMLElement} */ (document.getElementById('app'));

/** @type {[string, [string, string][]][]} */
const navigation = [
  ['', [['Home', '/']]],
  [
    'People',
    [
      ['Contacts', '/contacts'],
      ['Accounts', '/accounts'],
      ['Opportunities', '/opportunities'],
      ['Audiences', '/audiences'],
      ['Imports', '/imports?f=dry_run:is:false'],
      ['Operations', '/operations'],
    ],
  ],
  [
    'Market',
    [
      ['New market', '/market'],
      ['Previews', '/previews'],
      ['Catalog', '/catalog/companies'],
    ],
  ],
  [
    'Outreach',
    [
      ['Campaigns', '/campaigns'],
      ['Templates', '/templates'],
      ['Outbox', '/outbox'],
    ],
  ],
  [
    'Work',
    [
      ['Tasks', '/tasks?f=status:is:open'],
      ['Meetings', '/meetings'],
    ],
  ],
];

/** The page that loads and the state that all pages share. */
function draw() {
  if (!session.me) {
    if (waiting || current.error)
      render(
        html`${waitingBar()}
          <main>${current.error && failure(current.error)}</main>`,
        app,
      );
    return;
  }
  render(
    html`<a class="skip" href="#main">Skip to the content</a>
      <div class="shell">
        ${waitingBar()}
        <header class="top">
          <button
            class="button icon menu-button"
            type="button"
            aria-label="Menu"
            aria-expanded=${String(menuOpen)}
            aria-controls="nav"
            @click=${() => {
              menuOpen = !menuOpen;
              update();
            }}
          >
            ☰
          </button>
          <strong class="grow clip" dir="auto">${session.me.org_name}</strong>
          ${button('Search', openPalette)}
        </header>
        ${navigationBar(session.me, current.params.path)}
        <main id="main">${content()}</main>
      </div>
      <div id="announcer" class="visually-hidden" role="status"></div>`,
    app,
  );
}

/** Where one can go. @param {API['Me']} me @param {string} path of the page that is shown */
const navigationBar = (me, path) =>
  html`<nav class=${menuOpen ? 'open' : ''} id="nav" aria-label="Main">
    <div class="brand clip" dir="auto">${me.org_name}</div>
    <button class="nav-button soft" type="button" @click=${openPalette}>
      Search… <span class="grow"></span><kbd>Ctrl K</kbd>
    </button>
    ${navigation.map(
      ([title, links]) =>
        html`${title && html`<h3>${title}</h3>`}${links
          .filter(([, to]) => to !== '/market' || may('write'))
          .map(
            ([label, to]) =>
              html`<a href=${link(to)} aria-current=${isCurrent(to, path) ? 'page' : null}
                >${label}</a
              >`,
          )}`,
    )}
    <div class="end">
      ${troubles.now
        .filter((trouble) => trouble.isMail)
        .map(
          ({ title, text }) =>
            html`<a href=${link('/?who=all')} title=${text}
              ><span class="status bad">${title}</span></a
            >`,
        )}
      <a href=${link('/settings')} aria-current=${path.startsWith('/settings') ? 'page' : null}
        >Settings</a
      >
      <button class="nav-button" type="button" @click=${userMenu}>
        <span class="clip" dir="auto"
          >${me.user_first_name || me.user_email}${me.access === 'read' && ' · read access'}</span
        >
      </button>
    </div>
  </nav>`;

let menuOpen = false;
/** @type {{seconds: number, why: string} | null} */
let waiting = null;

const waitingBar = () =>
  waiting &&
  html`<div class="bar" role="status">
    ${waiting.why}
    ${plural(waiting.seconds, 'Trying again in {n} second.', 'Trying again in {n} seconds.')}
  </div>`;

/** @param {string} path @param {string} now */
function isCurrent(path, now) {
  const [, first] = path.split(/[/?]/);
  return now.split('/')[1] === first;
}

function content() {
  if (current.error) return failure(current.error);
  const slow = current.slow && html`<p class="notice">Loading… ${button('Cancel', cancel)}</p>`;
  if (!current.page)
    return html`<div class="page" aria-busy="true">
      <h1 tabindex="-1" class="visually-hidden">Loading…</h1>
      <div class="skeleton title"></div>
      <div class="skeleton body"></div>
      ${slow}
    </div>`;
  return html`${slow}${current.page.view(current.model)}`;
}

/** @param {unknown} error */
function failure(error) {
  const status = error instanceof ApiError ? error.status : 0;
  const title =
    status === 404
      ? 'This does not exist'
      : status === 403
        ? 'You may not see this'
        : 'This did not work';
  const text =
    status === 404
      ? 'It was deleted, or the address is wrong.'
      : status === 403
        ? `You have ${session.me?.access} access. Ask an admin for more.`
        : messageOf(error);
  return html`<div class="page">
    <h1 tabindex="-1">${title}</h1>
    <p>${text}</p>
    <p class="buttons">
      ${button('Try again', () => (session.me ? reload() : location.reload()))}<a
        class="button"
        href=${link('/')}
        >Home</a
      >
    </p>
  </div>`;
}

/**
 * Asks for the password, over a page so that what was typed there stays. The page of another user
 * must not do anything, so it ends here.
 */
async function askToSignIn() {
  if (!session.me) return signInPage();
  for (;;) {
    const me = await get('/v1/me', { quiet: true }).catch((error) => {
      if (error.status !== 401) throw error;
    });
    if (me?.user_id === session.me.user_id) return;
    if (me) {
      location.assign(link('/'));
      return new Promise(() => {});
    }
    await signInDialog();
  }
}

/** @param {FormState} state */
async function signIn(state) {
  const { email, password, organization_id } = state.values;
  try {
    await post(
      '/v1/sessions',
      { email, password, ...(organization_id ? { organization_id } : {}) },
      { quiet: true },
    );
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'several_organizations') {
      state.values.organizations = error.details.map((d) => ({ value: d.id, label: d.message }));
      state.values.organization_id = error.details[0].id;
    }
    throw error;
  }
}

/** @param {FormState} state */
function signInFields(state) {
  return html`${field(state, {
    name: 'email',
    type: 'email',
    required: true,
    autocomplete: 'username',
  })}
  ${field(state, {
    name: 'password',
    type: 'password',
    required: true,
    autocomplete: 'current-password',
  })}
  ${
    state.values.organizations &&
    field(state, {
      name: 'organization_id',
      label: 'Organization',
      required: true,
      options: state.values.organizations,
    })
  }`;
}

function signInDialog() {
  const done = form(
    {
      title: 'Your session has ended',
      action: 'Sign in',
      body: signInFields,
      submit: signIn,
    },
    { email: session.me?.user_email },
  );
  /** @type {HTMLElement | null} */ (document.querySelector('dialog [type=password]'))?.focus();
  return done;
}

function signInPage() {
  return new Promise((resolve) => {
    void import('./pages/signin.js').then(({ showSignIn }) =>
      showSignIn(app, signInFields, signIn, () => resolve(true)),
    );
  });
}

async function openPalette() {
  const { showPalette } = await import('./components/palette.js');
  await showPalette(
    navigation.flatMap(([, links]) => links),
    current.page?.actions?.(current.model) || [],
  );
}

/** One sign-in for all requests that need it. @type {Promise<void> | null} */
let signingIn = null;

hooks.signIn = () => {
  signingIn ??= askToSignIn().finally(() => {
    signingIn = null;
  });
  return signingIn;
};

hooks.wait = async (seconds, why, signal) => {
  for (let left = Math.min(60, Math.max(1, seconds)); left > 0; left--) {
    waiting = { seconds: left, why };
    update();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    if (signal?.aborted) break;
  }
  waiting = null;
  update();
};

/**
 * A choice that this browser remembers.
 * @param {string} label
 * @param {string} name
 * @param {string[][]} choices
 * @param {(result: null) => void} close
 */
const picker = (label, name, choices, close) =>
  html`<div class="field">
    <span class="label">${label}</span>
    <div class="tabs">
      ${choices.map(
        ([value, text]) =>
          html` <button
            type="button"
            aria-pressed=${String((localStorage.getItem(name) || '') === value)}
            @click=${() => {
              localStorage.setItem(name, value);
              applyTheme();
              close(null);
            }}
          >
            ${text}
          </button>`,
      )}
    </div>
  </div>`;

async function userMenu() {
  await open(
    (close) =>
      html`<div class="panel">
        <h2 dir="auto">${session.me?.user_email}</h2>
        ${picker(
          'Theme',
          'theme',
          [
            ['', 'System'],
            ['light', 'Light'],
            ['dark', 'Dark'],
          ],
          close,
        )}
        ${picker(
          'Rows',
          'density',
          [
            ['compact', 'Compact'],
            ['', 'Normal'],
            ['roomy', 'Roomy'],
          ],
          close,
        )}
        <label class="check"
          ><input
            type="checkbox"
            .checked=${!session.preferences.keys_off}
            @change=${(e) => prefer('keys_off', !e.target.checked)}
          />
          Single-letter keys</label
        >
        <div class="buttons">
          <a class="button" href=${link('/settings/me')} @click=${() => close(null)}
            >Password and sessions</a
          >
          ${button('Sign out', signOut)}
        </div>
      </div>`,
    'narrow',
  );
}

async function signOut() {
  const look = ['theme', 'density'].map((name) => [name, localStorage.getItem(name) || '']);
  await remove('/v1/sessions/current').catch(() => {}); // it clears the storage
  for (const [name, value] of look) localStorage.setItem(name, value);
  forgetAll();
  location.assign(link('/'));
}

function applyTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme =
    localStorage.getItem('theme') || (dark ? 'dark' : 'light');
  document.documentElement.dataset.density = localStorage.getItem('density') || '';
}

function help() {
  const keys = [
    ['Ctrl K', 'Search or jump to'],
    ['/', 'Search this list'],
    ['g h c a m p t w', 'Go to Home, Contacts, Accounts, Market, Campaigns, Templates, Webhooks'],
    ['j k', 'Next and previous row'],
    ['x', 'Select a row'],
    ['Shift x', 'Select a range'],
    ['f', 'Add a filter'],
    ['e', 'Edit a record'],
    ['Enter', 'Open'],
    ['o', 'Show a record beside the list'],
    ['Esc', 'Close'],
  ];
  void open(
    (close) =>
      html`<div class="panel">
        <h2>Keys</h2>
        <dl class="pairs">
          ${keys.map(
            ([key, what]) =>
              html`<dt><kbd>${key}</kbd></dt>
                <dd>${what}</dd>`,
          )}
        </dl>
        <div class="buttons">${button('Close', () => close(null))}</div>
      </div>`,
    'narrow',
  );
}

addKeys({
  'Ctrl k': () => void openPalette(),
  '?': help,
  '/': () => void openPalette(),
  ...Object.fromEntries(
    Object.entries({
      h: '/',
      c: '/contacts',
      a: '/accounts',
      m: '/market',
      p: '/campaigns',
      t: '/templates',
      w: '/settings/webhooks',
    }).map(([key, path]) => [`g ${key}`, () => void go(path)]),
  ),
});

/** Reads who is signed in, and shows the console. */
async function begin() {
  applyTheme();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', applyTheme);
  onUpdate(draw);
  if (location.pathname === link('/welcome')) {
    const { welcome } = await import('./pages/signin.js');
    await welcome(app);
    history.replaceState(null, '', link('/'));
  }
  session.me = await get('/v1/me');
  hooks.headers['X-Prospector-User'] = session.me?.user_id || '';
  [session.organization] = await Promise.all([get('/v1/organization'), readPreferences()]);
  setZone(session.organization?.time_zone || 'UTC');
  document.addEventListener('click', (event) => {
    if (!(event.target instanceof Element)) return;
    if (event.target.closest('nav a')) menuOpen = false;
    const menu = event.target.closest('details');
    for (const other of document.querySelectorAll('details.menu'))
      if (other !== menu) other.removeAttribute('open');
  });
  await start(routes);
  startFoot();
  watchTroubles();
  watchUses();
}

begin().catch((error) => {
  current.error = error;
  update();
});
