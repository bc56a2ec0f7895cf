// @ts-check
// A new audience: a list of contacts, or whoever matches filters.
import { post } from '../api.js';
import { form } from '../components/dialog.js';
import { field } from '../components/field.js';
import { filterBar } from '../components/filter.js';
import { html } from '../dom.js';
import { go } from '../router.js';
import { plural } from '../text.js';
import { contactFields, filtersOf, total } from './audience_rules.js';

/** Makes an audience, of those who match a view if there is one. @param {Partial<View>} [view] */
export async function createAudience(view) {
  const fields = await contactFields();
  const start = { q: view?.q || '', rules: view?.rules || [], where: view?.where || null };
  let counted = '';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const count = (/** @type {FormState} */ state) => {
    // who matches, after each change
    const wanted = { ...state.values.view, q: state.values.q || '' };
    if (state.values.type !== 'dynamic' || counted === JSON.stringify(wanted)) return;
    counted = JSON.stringify(wanted);
    clearTimeout(timer);
    timer = setTimeout(async () => state.set('n', await total(wanted)), 250);
  };
  const made = await form(
    {
      title: 'New audience',
      action: 'Create',
      body: (state) =>
        html`${count(state)}${field(state, { name: 'name', required: true })}
        ${field(state, {
          name: 'type',
          label: 'Contacts',
          required: true,
          options: [
            { value: 'static', label: 'Those that you add' },
            { value: 'dynamic', label: 'Whoever matches filters, at any moment' },
          ],
        })}
        ${
          state.values.type === 'dynamic' &&
          html`${field(state, { name: 'q', label: 'Search text' })}${filterBar({
              entity: 'contacts',
              view: () => state.values.view,
              fields,
              onChange: (rules, where) => state.set('view', { rules, where }),
            })}
            <p class="soft" role="status">
              ${
                state.values.n === undefined
                  ? 'Counting…'
                  : plural(state.values.n, '{n} contact matches now.', '{n} contacts match now.')
              }
            </p>`
        }`,
      submit: ({ values: { name, type, q, view: v }, key }) =>
        post(
          '/v1/audiences',
          type === 'dynamic'
            ? { name, type, filters: filtersOf(v), search: q || '' }
            : { name, contact_ids: [] },
          { key },
        ),
    },
    { type: view ? 'dynamic' : 'static', q: start.q, view: start },
  );
  if (made) await go(`/audiences/${made.id}`);
}
