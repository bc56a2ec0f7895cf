// @ts-check
// Settings, organization: its name, when it sends, and what its emails end with.
import { patch } from '../api.js';
import { form } from '../components/dialog.js';
import { field } from '../components/field.js';
import { button, pairs } from '../components/parts.js';
import { html } from '../dom.js';
import { listOf, shortDay } from '../format.js';
import { reload } from '../router.js';
import { may, session } from '../state.js';

const week = [1, 2, 3, 4, 5, 6, 7]; // from Monday

/** @param {number} day */
const dayName = (day) => shortDay(`2024-01-0${day}T12:00:00Z`).slice(0, 3);

/** @param {FormState} state */
const organizationFields = (state) =>
  html`<div class="columns">
      ${field(state, { name: 'name', required: true })}${field(state, {
        name: 'time_zone',
        required: true,
        help: 'such as Europe/Berlin',
      })}
      ${field(state, {
        name: 'from_hour',
        label: 'Send from, hour',
        type: 'number',
      })}${field(state, { name: 'to_hour', label: 'Send until, hour', type: 'number' })}
    </div>
    <fieldset class="field">
      <legend class="label">Business days</legend>
      <span class="chips"
        >${week.map(
          (day) =>
            html`<label class="check"
              ><input
                type="checkbox"
                .checked=${state.values.business_days.includes(day)}
                @change=${(e) =>
                  state.set(
                    'business_days',
                    week.filter((d) =>
                      d === day ? e.target.checked : state.values.business_days.includes(d),
                    ),
                  )}
              />
              ${dayName(day)}</label
            >`,
        )}</span
      >${
        state.errors.business_days && html`<span class="error">${state.errors.business_days}</span>`
      }
    </fieldset>
    ${field(state, { name: 'holidays', help: 'dates such as 2026-12-25, with commas' })}
    ${field(state, {
      name: 'postal_address',
      rows: 3,
    })}${field(state, { name: 'mail_footer', rows: 4 })}`;

/** @param {API['Organization']} o */
export function organization(o) {
  const change = async () => {
    const saved = await form(
      {
        title: 'Organization',
        action: 'Save',
        body: (state) => organizationFields(state),
        submit: ({ values: v }) =>
          patch('/v1/organization', {
            name: v.name,
            time_zone: v.time_zone,
            postal_address: v.postal_address,
            mail_footer: v.mail_footer,
            holidays: listOf(v.holidays),
            business_days: v.business_days,
            sending_window: { from_hour: v.from_hour, to_hour: v.to_hour },
          }),
      },
      {
        ...o,
        holidays: o.holidays.join(', '),
        from_hour: o.sending_window.from_hour,
        to_hour: o.sending_window.to_hour,
      },
    );
    if (saved) {
      session.organization = saved;
      await reload();
    }
  };
  return html`<section class="section">
    ${pairs([
      ['Name', o.name],
      ['Time zone', o.time_zone],
      ['Business days', o.business_days.map(dayName).join(', ')],
      ['Sending window', `${o.sending_window.from_hour}:00–${o.sending_window.to_hour}:00`],
      ['Holidays', o.holidays.join(', ') || '—'],
      ['Postal address', o.postal_address || '—'],
      ['Mail footer', o.mail_footer],
    ])}
    ${may('admin') && html`<p class="buttons">${button('Change…', change)}</p>`}
  </section>`;
}
