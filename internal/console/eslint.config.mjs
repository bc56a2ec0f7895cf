// What `make check-console` requires of the scripts. The rules need no plugins, so npx runs them without installing
// anything in the repository.

// The globals of browsers that the scripts use.
const browser = [
  'AbortController',
  'BroadcastChannel',
  'CSS',
  'DOMException',
  'Element',
  'FormData',
  'HTMLAnchorElement',
  'HTMLElement',
  'Node',
  'ResizeObserver',
  'URL',
  'URLSearchParams',
  'XMLHttpRequest',
  'addEventListener',
  'clearInterval',
  'clearTimeout',
  'console',
  'crypto',
  'document',
  'fetch',
  'getComputedStyle',
  'history',
  'localStorage',
  'location',
  'matchMedia',
  'navigator',
  'removeEventListener',
  'requestAnimationFrame',
  'setInterval',
  'setTimeout',
  'structuredClone',
];

const markup = 'Text must not become markup. Use html`…` of dom.js.';

export default [
  {
    files: ['**/*.js'],
    languageOptions: {
      ecmaVersion: 2024,
      sourceType: 'module',
      globals: Object.fromEntries(browser.map((name) => [name, 'readonly'])),
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-undef': 'error',
      'no-unused-vars': [
        'error',
        {
          args: 'after-used',
          argsIgnorePattern: '^_',
          ignoreRestSiblings: true,
          caughtErrors: 'all',
        },
      ],
      'no-useless-assignment': 'error',
      'no-unreachable': 'error',
      'no-dupe-keys': 'error',
      'no-self-assign': 'error',
      'no-constant-condition': ['error', { checkLoops: false }],
      'no-fallthrough': 'error',
      'no-redeclare': 'error',
      'no-shadow': ['error', { hoist: 'never' }],
      'no-var': 'error',
      'prefer-const': ['error', { destructuring: 'all' }],
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-script-url': 'error',
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-len': ['error', { code: 120 }],
      eqeqeq: 'error',
      'no-restricted-properties': [
        'error',
        { object: 'document', property: 'write', message: markup },
        ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'setHTMLUnsafe'].map((property) => ({
          property,
          message: markup,
        })),
      ],
    },
  },
];
