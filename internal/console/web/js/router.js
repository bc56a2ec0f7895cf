// @ts-check
// Finds the page of an address, loads it and shows it.
import { ApiError } from './api.js';
import { confirm } from './components/dialog.js';
import { addKeys, update } from './state.js';

/**
 * @type {{
 *   page: PageModule<PageModel | null> | null,
 *   model: PageModel | null,
 *   params: Params,
 *   error: unknown,
 *   loading: boolean,
 *   slow: boolean,
 * }}
 */
export const current = {
  page: null,
  model: null,
  params: { path: '', args: {}, search: new URLSearchParams() },
  error: null,
  loading: false,
  slow: false,
};

/** @type {Route[]} */
let routes = [];
/** The pages that were loaded, by their routes. @type {Map<Route, PageModule<PageModel | null>>} */
const pages = new Map();
let abort = new AbortController();
/** @type {() => void} */
let removeKeys = () => {};
const prefix = '/app';
let place = 0; // of the page on the screen in the browser's history

/**
 * @param {string} pattern
 * @param {string} path
 * @returns {Record<string, string> | null}
 */
function match(pattern, path) {
  const want = pattern.split('/');
  const have = path.split('/');
  if (want.length !== have.length) return null;
  /** @type {Record<string, string>} */
  const args = {};
  for (let i = 0; i < want.length; i++) {
    if (want[i].startsWith(':')) args[want[i].slice(1)] = decodeURIComponent(have[i]);
    else if (want[i] !== have[i]) return null;
  }
  return args;
}

/** The page of a route, whose module is loaded once. @param {Route} route */
async function pageOf(route) {
  const page = pages.get(route) || (await route[1]());
  pages.set(route, page);
  return page;
}

/** Shows the page of the address, and from now on those that links lead to. @param {Route[]} all */
export function start(all) {
  routes = all;
  history.scrollRestoration = 'manual';
  place = history.state?.place || 0;
  history.replaceState({ ...history.state, place }, '');
  addEventListener('popstate', async ({ state }) => {
    const to = state?.place ?? place;
    if (to === place) return; // the page was not left after all, or only a part of it was chosen
    // Back closes a dialog and nothing else
    if (closeDialogs() || !(await mayLeave())) return history.go(place - to);
    place = to;
    void show(state.scroll || 0, state.row);
  });
  addEventListener('beforeunload', (event) => {
    if (isDirty()) event.preventDefault();
  });
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element && event.target.closest('a[href]');
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0)
      return;
    if (
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey ||
      link.target ||
      link.hasAttribute('download')
    )
      return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !url.pathname.startsWith(`${prefix}/`)) return;
    if (url.pathname === location.pathname && url.search === location.search && url.hash) return;
    event.preventDefault();
    go(url.pathname.slice(prefix.length) + url.search);
  });
  return show(0);
}

const isDirty = () => current.page && current.model?.isDirty;

/** Closes what is open over the page. Returns whether there was anything. */
function closeDialogs() {
  const open = document.querySelectorAll('dialog');
  open.forEach((dialog) => dialog.close());
  return open.length > 0;
}

/** Asks before what was entered is lost. */
const mayLeave = async () =>
  !isDirty() ||
  confirm({
    title: 'Leave without saving?',
    text: 'What you have entered here is lost.',
    action: 'Leave',
    danger: true,
  });

/**
 * Goes to a path such as /contacts?q=anna.
 * @param {string} path
 * @param {{replace?: boolean}} [options]
 */
export async function go(path, { replace = false } = {}) {
  if (!(await mayLeave())) return;
  closeDialogs(); // one that stays would act on another page
  if (!replace)
    history.replaceState(
      { scroll: scrollPosition(), row: current.model?.table?.first, place: place++ },
      '',
    );
  history[replace ? 'replaceState' : 'pushState']({ scroll: 0, place }, '', prefix + path);
  await show(0);
}

/** Changes the address without loading the page again. @param {string} search */
export function setSearch(search) {
  history.replaceState(history.state, '', location.pathname + search);
  current.params.search = new URLSearchParams(search);
}

const scrollPosition = () => document.querySelector('main')?.scrollTop || 0;

/**
 * Loads the page of the current address.
 * @param {number} scroll
 * @param {number} [row] the first row of its table
 */
async function show(scroll, row) {
  abort.abort(new DOMException('another page was opened', 'AbortError'));
  abort = new AbortController();
  const { signal } = abort;
  const path = location.pathname.slice(prefix.length).replace(/(.)\/$/, '$1') || '/';
  const params = { path, row, args: {}, search: new URLSearchParams(location.search) };
  const route = routes.find(([pattern]) => {
    const args = match(pattern, path);
    if (args) params.args = args;
    return args;
  });
  current.loading = true;
  current.error = null;
  const isSamePath = current.params.path === path;
  const late = setTimeout(() => {
    current.slow = true;
    update();
  }, 3000);
  try {
    if (!route) throw new ApiError(404, '', '');
    const page = await pageOf(route);
    if (signal.aborted) return;
    const previous = isSamePath && current.page === page ? current.model : undefined;
    if (!previous)
      setTimeout(() => {
        if (!signal.aborted && current.loading && !isSamePath) {
          current.page?.close?.(current.model);
          current.page = null;
          update();
        }
      }, 150);
    const model = await page.load(params, signal, previous);
    if (signal.aborted) return;
    if (current.page && current.model !== model) current.page.close?.(current.model);
    current.page = page;
    current.model = model;
  } catch (error) {
    if (signal.aborted) return;
    // the service was upgraded
    if (error instanceof TypeError && /import/i.test(error.message)) return location.reload();
    current.page?.close?.(current.model);
    current.page = null;
    current.error = error;
  } finally {
    clearTimeout(late);
    if (!signal.aborted) {
      current.loading = current.slow = false;
      current.params = params;
    }
  }
  removeKeys();
  removeKeys = current.page?.keys ? addKeys(current.page.keys(current.model)) : () => {};
  document.title = current.page
    ? `${current.page.title(current.model)} · Prospector`
    : 'Prospector';
  update();
  requestAnimationFrame(() => requestAnimationFrame(() => settle(scroll, isSamePath)));
}

/** Scrolls a page that is drawn, and moves the focus to it. @param {number} scroll @param {boolean} isSamePath */
function settle(scroll, isSamePath) {
  const main = document.querySelector('main');
  if (main) main.scrollTop = scroll;
  const focused = document.activeElement;
  if (
    focused === document.body ||
    (!isSamePath && !focused?.matches('main :is(input, select, textarea)'))
  )
    /** @type {HTMLElement | null} */ (document.querySelector('main h1'))?.focus({
      preventScroll: true,
    });
}

/** Loads the current page again. */
export function reload() {
  return show(scrollPosition());
}

/** Aborts the load of the current page, on the server too. */
export function cancel() {
  abort.abort(new DOMException('cancelled', 'AbortError'));
  current.loading = current.slow = false;
  current.error = new Error('Loading was cancelled.');
  update();
}

/** The address of a path in the console. @param {string} path */
export const link = (path) => prefix + path;
