// @ts-check
// The strip at the foot of every page: what the service does in the background, and when the
// session is about to end.
import { ApiError, getPage, hooks, post, request } from './api.js';
import { button } from './components/parts.js';
import { html, keyed, render } from './dom.js';
import { time } from './format.js';
import { current, link, reload } from './router.js';
import { announce } from './state.js';
import { number, plural, why } from './text.js';

/** How far work of the service is. @typedef {{status: string, progress: number | null}} Progress */

/**
 * Work in the background: of this page, or of the service, which says under the address read how
 * far it is. seen gets each state, ended the last one as soon as the user is on the page of the
 * work.
 * @template {Progress} [T=any] the work, as the service describes it
 * @typedef {{
 *   href: string,
 *   label: string,
 *   cancel?: () => unknown,
 *   read?: string,
 *   seen?: (item: T) => void,
 *   ended?: (item: T) => unknown,
 *   at?: number | null,
 *   result?: string,
 *   item?: T,
 * }} Work
 */
/**
 * @template {Progress} [T=any]
 * @typedef {Work<T> & {read: string, done: (item: T) => string}} Followed
 */
/** @type {Work[]} */
let works = [];
const place = document.createElement('footer');

/** Follows the preparation of a Preview, on whatever page. @param {string} id */
export function followPreview(id) {
  const path = `/v1/tam/preview/${id}`;
  follow({
    read: `${path}?page_size=1`,
    cancel: () => post(`${path}/cancel`, {}),
    href: `/previews/${id}`,
    label: 'Preparing a Preview',
    done: (/** @type {API['Preview']} */ p) =>
      p.status === 'READY'
        ? plural(
            p.totals?.companies.eligible ?? 0,
            'The Preview is ready: {n} company',
            'The Preview is ready: {n} companies',
          )
        : p.status === 'FAILED'
          ? `The Preview failed: ${why(p.failure_reason)}`
          : 'The Preview was cancelled',
  });
}

/** Follows the Import of a Preview. @param {string} id @param {string} preview */
export function followImport(id, preview) {
  follow({
    read: `/v1/tam/imports/${id}`,
    href: `/previews/${preview}`,
    label: 'Importing a Preview',
    done: importResult,
  });
}

/** @param {API['Import']} i an Import that has ended */
export const importResult = (i) =>
  i.status === 'failed'
    ? `The Import failed: ${why(i.failure_reason)}`
    : `Imported: ${number(i.accounts.created)} new accounts and ${number(i.contacts.created)} new contacts`;

/** Shows work and looks how far it is. @template {Progress} T @param {Followed<T>} work */
export function follow(work) {
  const known = works.find((other) => other !== work && other.read === work.read && !other.result);
  if (known) return void (known.seen = work.seen);
  showWork(work);
  void look(work, 100);
}

/** Shows work, once. @param {Work} work */
export function showWork(work) {
  works = [
    ...works.filter((other) => other !== work && (!work.read || other.read !== work.read)),
    work,
  ];
  draw();
}

/**
 * Looks how far it is, once a second after the first looks.
 * @param {Followed} work
 * @param {number} wait
 */
async function look(work, wait) {
  try {
    /** @type {Progress} */
    const item = (await request('GET', work.read)).body.data;
    work.at = item.progress;
    work.item = item;
    if (!/^(PREPARING|accepted|running)$/.test(item.status)) work.result = work.done(item);
    work.seen?.(item);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return dropWork(work);
  }
  draw();
  if (!work.result) return void setTimeout(() => void look(work, Math.min(1000, wait * 2)), wait);
  announce(work.result);
  if (current.params.path !== work.href) return;
  dropWork(work); // its page says the same
  await reload();
  work.ended?.(work.item || {});
}

/** @param {Work} work */
export function dropWork(work) {
  works = works.filter((other) => other !== work);
  draw();
}

const early = 5 * 60_000;
let idle = Infinity; // how long the session lasts without a request
let end = Infinity;
let used = Date.now();

const others = new BroadcastChannel('session'); // what other windows do keeps the session alive too

/** Reads when the session ends, which is also a use of it. */
async function readSession() {
  const { data, meta } = await getPage('/v1/sessions');
  const own = data.find((s) => s.current);
  if (!own) return;
  idle = Date.parse(own.idle_expires_at) - Date.parse(meta.timestamp); // by the clock of the server
  end = Date.now() + Date.parse(own.expires_at) - Date.parse(meta.timestamp);
  draw();
}

function draw() {
  const at = Math.min(used + idle, end);
  const isEnding = at > Date.now() && at - Date.now() < Math.min(early, idle / 2);
  render(
    html`${
      isEnding &&
      html`<p class="bar" role="alert">
        Your session ends at ${time(at)}. ${at < end && button('Stay signed in', readSession)}
      </p>`
    }
    ${keyed(
      works,
      (work) => work,
      (work) =>
        html`<p class="work">
          ${
            work.result
              ? html`<a
                    class="grow"
                    href=${link(work.href)}
                    @click=${() => {
                      dropWork(work);
                      work.ended?.(work.item || {});
                    }}
                    >${work.result}</a
                  ><button
                    class="button plain"
                    type="button"
                    aria-label="Close"
                    @click=${() => dropWork(work)}
                  >
                    ×
                  </button>`
              : html`<a class="clip" href=${link(work.href)}>${work.label}</a
                  ><progress max="1" .value=${work.at || 0} aria-label=${work.label}></progress
                  ><span>${number(Math.round((work.at || 0) * 100))} %</span>
                  ${work.cancel && button('Cancel', work.cancel)}`
          }
        </p>`,
    )}`,
    place,
  );
}

/** Shows the strip from now on. */
export function startFoot() {
  place.className = 'foot';
  place.setAttribute('aria-label', 'In progress');
  document.body.append(place);
  others.onmessage = () => {
    used = Date.now();
    draw();
  };
  hooks.used = () => {
    used = Date.now();
    others.postMessage('');
  };
  setInterval(draw, 15_000);
  document.addEventListener('visibilitychange', draw);
  void readSession().catch(() => {});
}
