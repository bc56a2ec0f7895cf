// @ts-check
// The views of a list that everybody in the organization sees.
import { get, post, remove } from '../api.js';
import { form } from '../components/dialog.js';
import { field } from '../components/field.js';
import { toast } from '../components/parts.js';
import { selection } from '../query.js';
import { deleteUsed } from '../uses.js';

/** @typedef {import('./list_model.js').ListModel} ListModel */

/** @param {ListModel} model */
export async function saveView(model) {
  const { view, kind } = model;
  const saved = await form({
    title: 'Save this view',
    action: 'Save',
    body: (state) =>
      field(state, {
        name: 'name',
        required: true,
        help: 'Everybody in your organization sees the view.',
      }),
    submit: ({ values, key }) =>
      post(
        '/v1/views',
        {
          entity: kind.entity,
          name: values.name,
          filtering_rules: selection(view).filters || [],
          searching_rule: view.q ? { value: view.q } : null,
          sort: view.sort || null,
          columns: model.table.options.columns.map((c) => c.key),
        },
        { key },
      ),
  });
  if (!saved) return;
  toast(`The view ${saved.name} is saved`);
  await model.loadViews();
}

/** @param {ListModel} model @param {API['View']} v */
export async function deleteView(model, v) {
  const path = `/v1/views/${v.id}`;
  const { total } = await get(`${path}/uses`);
  if (total === 0) await remove(path);
  else if (
    !(await deleteUsed({
      path,
      title: `Delete the view ${v.name}?`,
      action: 'Delete the view',
    }))
  )
    return;
  toast(`The view ${v.name} is deleted`, {
    undo: async () => {
      const { id, created_at, updated_at, ...content } = v;
      await post('/v1/views', content);
      await model.loadViews();
    },
  });
  await model.loadViews();
}
