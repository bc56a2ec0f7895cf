// @ts-check
// Calls the public API with the session cookie.
import { words } from './format.js';

/**
 * A message of the API with the names of fields as people know them. What is quoted stays.
 * @param {string} message
 */
export const inWords = (message = '') =>
  message.replace(/"[^"]*"|\{\{.*?\}\}|^[a-z]+(?=: )|\b[a-z]+(_[a-z]+)+\b(?!\()/g, (name) =>
    /\W/.test(name) ? name : words(name),
  );

/** A refused or failed request. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {Detail[]} [details]
   * @param {number} [wait]
   */
  constructor(status, code, message, details = [], wait = 0) {
    super(inWords(message));
    this.status = status;
    this.code = code;
    this.details = details;
    this.wait = wait; // seconds after which a repeated request may succeed
  }
}

/** What an error says. @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * What main.js and foot.js add: a sign-in over the page, the headers of every request, a bar while
 * the service cannot be reached, what follows a use of the session, and a question about the
 * dynamic audiences that a change would make static.
 * @type {{
 *   force: (audiences: Detail[]) => Promise<void>,
 *   signIn: () => Promise<void>,
 *   headers: Record<string, string>,
 *   wait: (seconds: number, why: string, signal?: AbortSignal) => Promise<void>,
 *   used: () => void,
 * }}
 */
export const hooks = {
  headers: { 'X-Prospector-Console': '1' },
  signIn: () => Promise.reject(new Error('signed out')),
  wait: () => Promise.resolve(),
  used: () => {},
  force: () => Promise.reject(new Error('not forced')),
};

const maxConcurrent = 6;
let running = 0;
/** @type {(() => void)[]} */
const waiting = [];

/**
 * @template T
 * @param {() => Promise<T>} task
 * @returns {Promise<T>}
 */
async function limited(task) {
  if (running >= maxConcurrent)
    await new Promise((resolve) => waiting.push(() => resolve(undefined)));
  running++;
  try {
    return await task();
  } finally {
    running--;
    waiting.shift()?.();
  }
}

/** @param {string} method @param {string} path */
function changesNothing(method, path) {
  return (
    method === 'GET' ||
    /\/(list|search|render|simulate|estimate|export|duplicates|facets)$/.test(path)
  );
}

/**
 * Whether a request can be repeated with force after it was refused: only dynamic audiences are in
 * its way.
 * @param {string} method
 * @param {string} path
 * @param {ApiError} error
 */
const canForce = (method, path, { code, details }) =>
  code === 'in_use' &&
  details.length > 0 &&
  details.every((detail) => detail.path === 'audiences') &&
  /^DELETE \/v1\/(tags|accounts|fields)\/[^?]+$|^POST .*\/(merge|restore)$/.test(
    `${method} ${path}`,
  );

/** Whether a request has been repeated with force already. @param {unknown} body */
const isForced = (body) => Boolean(/** @type {{force?: boolean} | undefined} */ (body)?.force);

/**
 * Makes a request and returns the decoded body and its headers.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {RequestOptions} [options]
 * @returns {Promise<{body: any, headers: Headers}>}
 */
export async function request(method, path, body, options = {}) {
  for (;;) {
    try {
      const answer = await limited(() => once(method, path, body, options));
      if (!changesNothing(method, path)) forget(path);
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 401 && !options.quiet) {
        await hooks.signIn();
      } else if (
        !options.quiet &&
        (error.status === 429 ||
          ([0, 503].includes(error.status) && (changesNothing(method, path) || options.key)))
      ) {
        await hooks.wait(error.wait, error.message, options.signal);
        if (options.signal?.aborted) throw error;
      } else if (canForce(method, path, error) && !isForced(body)) {
        await hooks.force(error.details);
        if (method === 'DELETE') path += '?force=true';
        else body = Object.assign({}, body, { force: true });
        if (options.key) options = { ...options, key: newKey() };
      } else {
        throw error;
      }
    }
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 * @param {RequestOptions} options
 */
async function once(method, path, body, options) {
  const headers = { ...hooks.headers };
  if (options.quiet) delete headers['X-Prospector-User'];
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (options.key) headers['Idempotency-Key'] = options.key;
  if (options.match) headers['If-Match'] = options.match;
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: options.signal,
      credentials: 'same-origin',
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, 'offline', 'The service cannot be reached.', [], 3);
  }
  if (answer.ok) {
    hooks.used();
    const decoded = answer.status === 204 ? null : await answer.json();
    return { body: decoded, headers: answer.headers };
  }
  const failure = await answer.json().catch(() => ({}));
  const e = failure.error || { code: 'unauthorized', message: failure.detail || answer.statusText };
  throw new ApiError(
    answer.status,
    e.code,
    e.message,
    e.details || [],
    Number(answer.headers.get('Retry-After')) || 2,
  );
}

/**
 * A rule of a filter.
 * @param {string} field
 * @param {unknown} value
 * @param {string} [condition]
 */
export const is = (field, value, condition = 'is') => ({ field, condition, value });

/**
 * @template {string} P
 * @param {P} path
 * @param {RequestOptions} [options]
 * @returns {Promise<DataOf<Best<'get', P>>>}
 */
export const get = async (path, options) =>
  (await request('GET', path, undefined, options)).body.data;

/**
 * @template {string} P
 * @param {P} path
 * @param {unknown} body
 * @param {RequestOptions} [options]
 * @returns {Promise<DataOf<Best<'post', P>>>}
 */
export const post = async (path, body, options) =>
  (await request('POST', path, body, options)).body?.data;

/**
 * @template {string} P
 * @param {P} path
 * @param {unknown} body
 * @param {RequestOptions} [options]
 * @returns {Promise<DataOf<Best<'patch', P>>>}
 */
export const patch = async (path, body, options) =>
  (await request('PATCH', path, body, options)).body?.data;

/** @param {string} path @param {RequestOptions} [options] */
export const remove = (path, options) => request('DELETE', path, undefined, options);

/**
 * One page of a list.
 * @template {string} P
 * @param {P} path
 * @param {unknown} query
 * @param {RequestOptions} [options]
 * @returns {Promise<PageOf<Best<'post', P>>>}
 */
export const list = async (path, query, options) =>
  (await request('POST', path, query, options)).body;

/**
 * One page of a list that is a GET.
 * @template {string} P
 * @param {P} path
 * @param {RequestOptions} [options]
 * @returns {Promise<PageOf<Best<'get', P>>>}
 */
export const getPage = async (path, options) =>
  (await request('GET', path, undefined, options)).body;

/** The answers, of which each caller knows the type. @type {Map<string, Promise<any>>} */
const cache = new Map();

/**
 * What changes rarely is read once, until this console changes it.
 * @template T @param {string} path @param {() => Promise<T>} load @returns {Promise<T>}
 */
export function cached(path, load) {
  let found = cache.get(path);
  if (!found) {
    found = load();
    cache.set(path, found);
    found.catch(() => cache.delete(path));
  }
  return found;
}

/** Forgets what was read of an entity that has changed. @param {string} path */
function forget(path) {
  const entity = path.split('/')[2]?.split('?')[0];
  for (const key of cache.keys()) {
    if (
      key.split('/')[2]?.split('?')[0] === entity ||
      (entity === 'fields' && key.startsWith('/v1/schemas/'))
    )
      cache.delete(key);
  }
}

/** Forgets everything, after the user or the organization has changed. */
export function forgetAll() {
  cache.clear();
}

/** @param {string} entity @returns {Promise<Schema>} */
export const schemaOf = (entity) =>
  cached(`/v1/schemas/${entity}`, () => get(`/v1/schemas/${entity}`));

/** @returns {Promise<API['User'][]>} */
export const users = () => cached('/v1/users', async () => (await getPage('/v1/users')).data);

/** @returns {Promise<API['Tag'][]>} */
export const tags = () =>
  cached(
    '/v1/tags',
    async () => (await list('/v1/tags/list', { page_size: 500, sort: 'name' })).data,
  );

/** A key that makes repeating a request harmless. */
export const newKey = () => crypto.randomUUID();
