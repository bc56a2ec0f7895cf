// @ts-check
// A list as a file.
import { download, failed } from '../components/parts.js';
import { selection } from '../query.js';

/** @typedef {import('./list_model.js').ListModel} ListModel */

/** @param {ListModel} model */
export const exportCSV = (model) =>
  download(`/v1/${model.kind.entity}/export`, `${model.kind.entity}.csv`, {
    ...selection(model.view),
    format: 'csv',
  }).catch(failed);

/** Exports the columns that are shown for a spreadsheet. @param {ListModel} model */
export const exportExcel = (model) =>
  download(
    `/v1/${model.kind.entity}/export?for=excel&locale=${encodeURIComponent(navigator.language)}`,
    `${model.kind.entity}.csv`,
    {
      ...selection(model.view),
      ...(model.view.sort ? { sort: model.view.sort } : {}),
      columns: model
        .columns()
        .flatMap(({ key }) => (key === 'last_name' ? ['first_name', key] : key)),
    },
  ).catch(failed);
