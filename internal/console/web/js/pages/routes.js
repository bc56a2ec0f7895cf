// @ts-check
// All pages, by their addresses. The script has the pages in the order of these imports, see join.go.
import { duplicatesPage, trashPage } from './clean.js';
import { audiencePage } from './audience.js';
import { campaignPage } from './campaigns.js';
import { lists } from './list.js';
import { records } from './record.js';
import { marketPage, previewPage } from './market.js';
import { templatePage } from './template.js';
import { settingsPage, webhookPage } from './settings.js';
import { importPage, newImportPage } from './imports.js';
import { operationPage, operationsPage } from './operations.js';
import { homePage } from './home.js';

/** The first that fits an address is shown. @type {Route[]} */
export const routes = [
  ['/', homePage], ['/contacts/duplicates', duplicatesPage], ['/accounts/duplicates', duplicatesPage], ...records, ...lists, ['/audiences/:id', audiencePage],
  ['/imports/new', newImportPage], ['/imports/:id', importPage], ['/market', marketPage], ['/previews/:id', previewPage], ['/campaigns/:id', campaignPage],
  ['/templates/:id', templatePage], ['/operations', operationsPage], ['/operations/:id', operationPage], ['/settings/trash', trashPage], ['/settings', settingsPage], ['/settings/:part', settingsPage], ['/settings/webhooks/:id', webhookPage],
];
