package browsertest

import (
	"testing"
)

// TestGraphLabels draws sequences whose steps are close to each other. No label covers another.
func TestGraphLabels(t *testing.T) {
	b := open(t, 1280)
	var steps, transitions []any
	for i, title := range []string{"Introduction", "Connect on LinkedIn", "Reminder", "Call the assistant", "Look back at the whole conversation", "Last word", "Close"} {
		steps = append(steps, map[string]any{"index": i, "type": []string{"auto_email", "call", "task"}[i%3], "title": title, "message": "Hello", "subject": "Hello", "day": 0, "hour": 9})
		if i > 0 {
			transitions = append(transitions, map[string]any{"from_step_index": (i - 1) / 2, "to_step_index": i, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 15 * i, "pre_check_time_unit": "minutes"})
		}
	}
	shared.create(t, "/v1/sequence-templates", map[string]any{"name": "Close to each other", "steps": steps, "transitions": transitions})
	b.signInAsNew()
	for _, name := range []string{"Close to each other", "Three emails", "LinkedIn"} {
		id := shared.first(t, "/v1/sequence-templates/list", map[string]any{"search": name})["id"].(string)
		b.visit("/templates/" + id)
		b.until(`/[0-9]:[0-9]/.test(document.querySelector('.graph').textContent)`)
		_ = eval[bool](b, `(document.querySelector('.graph').scrollIntoView(), true)`)
		b.screenshot("graph " + name)
		covered := eval[[]string](b, `(() => { const texts = [...document.querySelectorAll('.graph text')].map((e) => ({ text: e.textContent, box: e.getBBox() })).filter((e) => e.text);
			return texts.flatMap((a, i) => texts.slice(i + 1).filter((b) => a.box.x < b.box.x + b.box.width && b.box.x < a.box.x + a.box.width && a.box.y + 2 < b.box.y + b.box.height && b.box.y + 2 < a.box.y + a.box.height)
				.map((b) => a.text + ' and ' + b.text)); })()`)
		for _, pair := range covered {
			t.Errorf("%s: %s cover each other", name, pair)
		}
	}
}
