// @ts-check
// All pages, by their addresses. The module of a page is loaded when the page is first opened. The
// server reads this list
// too (modules.go), so that a browser loads the module of the first page along with the shell: keep
// the form of the entries.

/** The first that fits an address is shown. @type {Route[]} */
export const routes = [
  ['/', async () => (await import('./home.js')).homePage],
  ['/contacts/duplicates', async () => (await import('./clean.js')).duplicatesPage],
  ['/accounts/duplicates', async () => (await import('./clean.js')).duplicatesPage],
  ['/contacts/:id', async () => (await import('./record.js')).recordPage('contacts')],
  ['/accounts/:id', async () => (await import('./record.js')).recordPage('accounts')],
  ['/opportunities/:id', async () => (await import('./record.js')).recordPage('opportunities')],
  ['/tasks/:id', async () => (await import('./record.js')).recordPage('tasks')],
  ['/meetings/:id', async () => (await import('./record.js')).recordPage('meetings')],
  ['/contacts', async () => (await import('./list.js')).listPage('contacts')],
  ['/accounts', async () => (await import('./list.js')).listPage('accounts')],
  ['/opportunities', async () => (await import('./list.js')).listPage('opportunities')],
  ['/audiences', async () => (await import('./list.js')).listPage('audiences')],
  ['/previews', async () => (await import('./list.js')).listPage('previews')],
  ['/imports', async () => (await import('./list.js')).listPage('imports')],
  ['/catalog/companies', async () => (await import('./list.js')).listPage('companies')],
  ['/catalog/people', async () => (await import('./list.js')).listPage('people')],
  ['/campaigns', async () => (await import('./list.js')).listPage('campaigns')],
  ['/templates', async () => (await import('./list.js')).listPage('templates')],
  ['/outbox', async () => (await import('./list.js')).listPage('outbox')],
  ['/tasks', async () => (await import('./list.js')).listPage('tasks')],
  ['/meetings', async () => (await import('./list.js')).listPage('meetings')],
  ['/audiences/:id', async () => (await import('./audience.js')).audiencePage],
  ['/imports/new', async () => (await import('./imports.js')).newImportPage],
  ['/imports/:id', async () => (await import('./imports.js')).importPage],
  ['/market', async () => (await import('./market.js')).marketPage],
  ['/previews/:id', async () => (await import('./market.js')).previewPage],
  ['/campaigns/:id', async () => (await import('./campaigns.js')).campaignPage],
  ['/templates/:id', async () => (await import('./template.js')).templatePage],
  ['/operations', async () => (await import('./operations.js')).operationsPage],
  ['/operations/:id', async () => (await import('./operations.js')).operationPage],
  ['/settings/trash', async () => (await import('./clean.js')).trashPage],
  ['/settings', async () => (await import('./settings.js')).settingsPage],
  ['/settings/:part', async () => (await import('./settings.js')).settingsPage],
  ['/settings/webhooks/deliveries', async () => (await import('./list.js')).listPage('deliveries')],
  ['/settings/webhooks/:id', async () => (await import('./settings.js')).webhookPage],
];
