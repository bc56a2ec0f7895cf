// @ts-check
// Renders HTML templates. Values become text, attributes or properties, never markup. Rendering a
// template again changes only the holes whose values have changed, so focus and caret stay.

// The only place where text becomes markup: it sees nothing but the literal parts of templates.
const policy = globalThis.trustedTypes
  ? globalThis.trustedTypes.createPolicy('console', { createHTML: (/** @type {string} */ s) => s })
  : { createHTML: (/** @type {string} */ s) => s };

/**
 * A template. A hole is a child or a whole attribute value: `attribute=`, `.property=`, `?boolean=`
 * or `@event=`.
 * @param {TemplateStringsArray} strings
 * @param {...Hole} values
 * @returns {Template}
 */
export function html(strings, ...values) {
  return { strings, values };
}

/**
 * A template of elements inside of an <svg>.
 * @param {TemplateStringsArray} strings
 * @param {...Hole} values
 * @returns {Template}
 */
export function svg(strings, ...values) {
  return { strings, values, isSVG: true };
}

/**
 * A list whose nodes move with their keys.
 * @template T
 * @param {readonly T[]} list
 * @param {(item: T, index: number) => unknown} key
 * @param {(item: T, index: number) => unknown} view
 * @returns {Keyed}
 */
export function keyed(list, key, view) {
  return { keys: list.map(key), items: list.map(view) };
}

/**
 * @typedef {{kind: string, name: string, path: number[]}} Place
 * @typedef {{content: DocumentFragment, holes: Place[]}} Compiled
 */

/** @type {WeakMap<TemplateStringsArray, Compiled>} */
const compiled = new WeakMap();
const forbidden = /^(on|style$|srcdoc$|innerhtml$|outerhtml$)/i;
const urls = new Set(['href', 'src', 'action', 'formaction']);

/**
 * Markup without the white space that only lays out the source: a line break at the inner edges of
 * an element is nothing, so that a cell without a value is empty, and any other is one blank.
 * @param {string} markup
 */
const withoutIndentation = (markup) =>
  markup
    .trim()
    .replace(/(<[a-z][^<>]*[^/<>]>)\s*\n\s*/g, '$1')
    .replace(/\s*\n\s*(?=<\/)/g, '')
    .replace(/\s*\n\s*/g, ' ');

/** @param {Template} source @returns {Compiled} */
function compile({ strings, isSVG }) {
  const known = compiled.get(strings);
  if (known) return known;
  /** @type {{kind: string, name: string}[]} */
  const found = [];
  let markup = '';
  let skipQuote = '';
  for (let i = 0; i < strings.length; i++) {
    let part = strings[i];
    if (skipQuote) {
      if (!part.startsWith(skipQuote)) throw new Error(`bad hole: ${part}`);
      part = part.slice(1);
    }
    skipQuote = '';
    markup += part;
    if (i === strings.length - 1) break;
    const inTag = markup.lastIndexOf('<') > markup.lastIndexOf('>');
    const attribute = inTag && /([@.?]?)([a-zA-Z][\w:-]*)=("?)$/.exec(markup);
    if (!attribute) {
      if (inTag) throw new Error(`bad hole: ${part}`);
      found.push({ kind: 'child', name: '' });
      markup += `<!--hole ${i}-->`;
      continue;
    }
    const [all, prefix, name, quote] = attribute;
    if (prefix !== '@' && forbidden.test(name)) throw new Error(`forbidden: ${name}`);
    found.push({ kind: prefix || 'attribute', name });
    markup = markup.slice(0, -all.length) + `data-hole-${i}=""`;
    skipQuote = quote;
  }
  const template = document.createElement('template');
  const trimmed = withoutIndentation(markup);
  const whole = policy.createHTML(isSVG ? `<svg>${trimmed}</svg>` : trimmed);
  // eslint-disable-next-line no-restricted-properties -- the policy gets the literal parts of templates only
  template.innerHTML = /** @type {string} */ (/** @type {unknown} */ (whole));
  const wrapper = isSVG && template.content.firstElementChild;
  if (wrapper) wrapper.replaceWith(...wrapper.childNodes);
  /** @type {Place[]} */
  const holes = [];
  locate(template.content, [], (i, path) => {
    holes[i] = { ...found[i], path };
  });
  const result = { content: template.content, holes };
  compiled.set(strings, result);
  return result;
}

/**
 * Finds the holes below a node and removes their attributes.
 * @param {Node} node @param {number[]} path @param {(hole: number, path: number[]) => void} report
 */
function locate(node, path, report) {
  node.childNodes.forEach((child, i) => {
    const at = [...path, i];
    if (child.nodeType === Node.COMMENT_NODE) {
      const hole = /^hole (\d+)$/.exec(child.nodeValue || '');
      if (hole) report(Number(hole[1]), at);
    } else if (child instanceof Element) {
      for (const name of child.getAttributeNames()) {
        if (name.startsWith('data-hole-')) {
          report(Number(name.slice(10)), at);
          child.removeAttribute(name);
        }
      }
      locate(child, at, report);
    }
  });
}

/** An instance of a template in the document. */
class Instance {
  /** @param {Template} template */
  constructor(template) {
    const { content, holes } = compile(template);
    this.strings = template.strings;
    this.fragment = /** @type {DocumentFragment} */ (document.importNode(content, true));
    const nodes = holes.map((hole) =>
      hole.path.reduce((node, i) => node.childNodes[i], /** @type {Node} */ (this.fragment)),
    );
    this.parts = holes.map((hole, i) => makePart(hole, nodes[i]));
    this.nodes = [...this.fragment.childNodes];
    this.update(template.values);
  }

  /** @param {unknown[]} values */
  update(values) {
    this.parts.forEach((part, i) => part(values[i]));
  }
}

/**
 * @param {Place} hole
 * @param {Node} node
 * @returns {(value: unknown) => void}
 */
function makePart(hole, node) {
  const element = /** @type {HTMLElement} */ (node);
  const { name } = hole;
  /** @type {unknown} */
  let last;
  switch (hole.kind) {
    case 'child': {
      const child = new Child(/** @type {Comment} */ (node));
      return (value) => child.set(value);
    }
    case '@': {
      /** @type {((event: Event) => void) | undefined} */
      let handler;
      element.addEventListener(name, (event) => handler?.(event));
      return (value) => {
        handler = /** @type {typeof handler} */ (value) || undefined;
      };
    }
    case '.':
      return (value) => {
        if (value === last) return;
        last = value;
        const target = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (element));
        // What a person is typing is never overwritten.
        if (name === 'value' && document.activeElement === element) return;
        if (target[name] !== value) target[name] = value;
      };
    case '?':
      return (value) => element.toggleAttribute(name, Boolean(value));
    default:
      return (value) => {
        if (value === last) return;
        last = value;
        if (value === null || value === undefined || value === false) element.removeAttribute(name);
        else element.setAttribute(name, urls.has(name) ? safeURL(String(value)) : String(value));
      };
  }
}

/** @param {string} url */
function safeURL(url) {
  if (/^([/?#.]|$)/.test(url) || /^(https?|mailto|tel|blob):/i.test(url)) return url;
  return '#';
}

/** What stands in place of a child hole. */
class Child {
  /** @param {Comment} end */
  constructor(end) {
    this.end = end;
    owners.set(end, this);
    /** @type {Text | null} */
    this.text = null;
    /** @type {Instance | null} */
    this.instance = null;
    /** @type {Node | null} */
    this.node = null;
    /** @type {Map<unknown, {child: Child, end: Comment}> | null} */
    this.list = null;
  }

  /** @param {unknown} value */
  set(value) {
    if (value === null || value === undefined || value === false || value === true) {
      this.clear();
    } else if (Array.isArray(value)) {
      this.setList(
        value.map((_, i) => i),
        value,
      );
    } else if (value instanceof Node) {
      if (this.node === value) return;
      this.clear();
      this.node = value;
      this.end.before(value);
    } else if (typeof value === 'object' && 'strings' in value) {
      this.setTemplate(/** @type {Template} */ (value));
    } else if (typeof value === 'object' && 'keys' in value) {
      const { keys, items } = /** @type {Keyed} */ (value);
      this.setList(keys, items);
    } else {
      this.setText(String(value));
    }
  }

  /** @param {string} value */
  setText(value) {
    if (!this.text) {
      this.clear();
      this.text = document.createTextNode(value);
      this.end.before(this.text);
    } else if (this.text.data !== value) {
      this.text.data = value;
    }
  }

  /** @param {Template} template */
  setTemplate(template) {
    if (this.instance?.strings === template.strings) {
      this.instance.update(template.values);
      return;
    }
    this.clear();
    this.instance = new Instance(template);
    this.end.before(this.instance.fragment);
  }

  /** @param {unknown[]} keys @param {unknown[]} items */
  setList(keys, items) {
    if (!this.list) {
      this.clear();
      this.list = new Map();
    }
    const old = this.list;
    const next = new Map();
    /** @type {Node} */
    let cursor = this.end;
    // From the last to the first, each before the one that follows it.
    for (let i = keys.length - 1; i >= 0; i--) {
      let entry = old.get(keys[i]);
      old.delete(keys[i]);
      if (!entry) {
        const end = document.createComment('');
        cursor.parentNode?.insertBefore(end, cursor);
        entry = { child: new Child(end), end };
      } else if (entry.end.nextSibling !== cursor) {
        const nodes = entry.child.nodes();
        for (const node of nodes) cursor.parentNode?.insertBefore(node, cursor);
        cursor.parentNode?.insertBefore(entry.end, cursor);
      }
      entry.child.set(items[i]);
      next.set(keys[i], entry);
      cursor = entry.child.nodes()[0] || entry.end;
    }
    for (const entry of old.values()) {
      entry.child.clear();
      entry.end.remove();
    }
    this.list = next;
  }

  /** The nodes of this child, without its end. @returns {Node[]} */
  nodes() {
    if (this.text) return [this.text];
    if (this.node) return [this.node];
    if (this.instance) return this.instance.nodes.flatMap((node) => nodesFrom(node));
    if (this.list) {
      const all = [...this.list.values()].reverse(); // they were added from the last to the first
      return all.flatMap((entry) => [...entry.child.nodes(), entry.end]);
    }
    return [];
  }

  clear() {
    for (const node of this.nodes()) node.parentNode?.removeChild(node);
    this.text = this.instance = this.node = this.list = null;
  }
}

/** A top-level hole of a template has nodes before its comment. @type {WeakMap<Node, Child>} */
const owners = new WeakMap();

/** @param {Node} node @returns {Node[]} */
function nodesFrom(node) {
  const child = owners.get(node);
  return child ? [...child.nodes(), node] : [node];
}

/** @type {WeakMap<Element, Child>} */
const roots = new WeakMap();

/** Renders a value into an element. @param {unknown} value @param {Element} into */
export function render(value, into) {
  let root = roots.get(into);
  if (!root) {
    const end = document.createComment('');
    into.replaceChildren(end);
    root = new Child(end);
    roots.set(into, root);
  }
  root.set(value);
}
