// @ts-check
// Settings, me: the password and the sessions.
import { patch, remove } from '../api.js';
import { form } from '../components/dialog.js';
import { field } from '../components/field.js';
import { button, table, toast } from '../components/parts.js';
import { html } from '../dom.js';
import { dateTime } from '../format.js';
import { reload } from '../router.js';
import { done } from './settings_questions.js';

/** @param {API['Session'][]} sessions */
export function own(sessions) {
  const password = async () => {
    const saved = await form({
      title: 'Change the password',
      action: 'Save',
      body: (state) =>
        html`${field(state, {
          name: 'old_password',
          label: 'Current password',
          type: 'password',
          autocomplete: 'current-password',
        })}${field(state, {
          name: 'password',
          label: 'New password',
          type: 'password',
          required: true,
          autocomplete: 'new-password',
          help: 'At least 10 characters, such as four unrelated words. Your other sessions end.',
        })}`,
      submit: ({ values }) => patch('/v1/me', values),
    });
    if (saved) {
      toast('The password was changed');
      await reload();
    }
  };
  return html`<p class="buttons">${button('Change the password…', password)}</p>
    ${table(
      ['Signed in', 'Last seen', 'Ends at the latest', ''],
      sessions.map((s) => [
        dateTime(s.created_at),
        dateTime(s.last_seen_at),
        dateTime(s.expires_at),
        s.current
          ? 'this session'
          : button(
              'End',
              done(() => remove(`/v1/sessions/${s.id}`)),
            ),
      ]),
    )}`;
}
