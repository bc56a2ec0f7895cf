// How `make check-console` wants the console to be formatted. HTML in templates is formatted, too.
export default {
  printWidth: 100,
  singleQuote: true,
  overrides: [{ files: '*.css', options: { singleQuote: false } }],
};
