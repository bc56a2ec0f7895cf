package outreach_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/filter"
)

// tplRefused requires that a template is refused, as a new one and as an update of the one at the
// path, with exactly these problems in any order. Each is given by the beginning of its text.
func tplRefused(t *testing.T, o *apptest.Org, path string, body any, want ...string) {
	t.Helper()
	first := ""
	for _, res := range []*apptest.Response{o.Write.Post(apptest.TemplatesPath, body), o.Write.Patch(path, body), o.Write.Post(apptest.TemplatesPath, body)} {
		raw, _ := json.Marshal(body)
		if res.Status != 422 || res.Text("error.code") != "validation_failed" {
			t.Errorf("%.400s\nreturned %d %s", raw, res.Status, res.Body)
			return
		}
		got := apptest.ProblemsOf(res)
		if first == "" {
			first = got[0]
		}
		if res.Text("error.message") != got[0] || got[0] != first {
			t.Errorf("%.400s\nthe message is %q, the first problem %q, and was %q", raw, res.Text("error.message"), got[0], first)
		}
		got, want := apptest.Sorted(got), apptest.Sorted(want)
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%.400s\nproblems = %q, want %q", raw, got, want)
			return
		}
	}
}

// TestTemplateBounds checks the validation of each field on create and update. Invalid values are
// reported by path, and nothing changes.
func TestTemplateBounds(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	path := newTpl(org, ``)
	before := org.Dump()
	long := func(n int) string { return `"` + strings.Repeat("ü", n) + `"` }
	for _, c := range []struct{ members, want string }{
		{`"name": ""`, "name: required"},
		{`"name": null`, "name: required"},
		{`"name": 7`, "name: must be a string"},
		{`"name": ` + long(256), "name: must be at most 255 characters"},
		{`"description": ["x"]`, "description: must be a string"},
		{`"description": ` + long(100_001), "description: must be at most 100000 characters"},
		{`"steps": []`, "steps: must not be empty"},
		{`"steps": null`, "steps: required"},
		{`"steps": {}`, "steps: must be a list"},
		{`"steps": "x"`, "steps: must be a list"},
		{`"steps": [7]`, "steps[0]: must be an object"},
		{`"steps": [null]`, "steps[0]: must be an object"},
		{`"steps": [[]]`, "steps[0]: must be an object"},
		{`"steps": [` + strings.Repeat(`{"index": 0, "type": "call"},`, 100) + `{"index": 0, "type": "call"}]`, "steps: must have at most 100 entries"},
		{`"transitions": {}`, "transitions: must be a list"},
		{`"transitions": [7]`, "transitions[0]: must be an object"},
		{`"blocks": []`, "blocks: must be an object"},
		{`"blocks": {"x": "y"}`, "blocks.x: must be an object"},
		{`"blocks": {"x": null}`, "blocks.x: must be an object"},
		{`"blocks": {"x": {}}`, "blocks.x.name: required"},
		{`"blocks": {"x": {"name": ""}}`, "blocks.x.name: required"},
		{`"blocks": {"x": {"name": "X", "block_type": "AI"}}`, "blocks.x.block_type: \"AI\" is not one of: MANUAL"},
		{`"blocks": {"x": {"name": "X", "content": 7}}`, "blocks.x.content: must be a string"},
		{`"blocks": {"x": {"name": "X", "content": ` + long(100_001) + `}}`, "blocks.x.content: must be at most 100000 characters"},
		{`"blocks": {"x": {"name": "X", "id": "x"}}`, "blocks.x.id: unknown field"},
		{`"blocks": {"x y": {"name": "X"}}`, "blocks.x y: must be 1 to 100 letters"},
		{`"blocks": {"": {"name": "X"}}`, "blocks.: must be 1 to 100 letters"},
		{`"blocks": {"` + strings.Repeat("x", 101) + `": {"name": "X"}}`, "blocks.xx"},
	} {
		tplRefused(t, org, path, tplBody(c.members), c.want)
	}
	// Steps and transitions with one invalid member.
	for _, c := range []struct{ member, want string }{
		{`"index": -1`, "index: must be between 0 and"}, {`"index": 1.5`, "index: 1.5 is not an integer"}, {`"index": "1"`, `index: "1" is not an integer`}, {`"index": null`, "index: required"}, {`"index": 1e9`, "index: must be between"},
		{`"day": -1`, "day: must be between 0 and 365"}, {`"day": 366`, "day: must be between 0 and 365"}, {`"day": 0.5`, "day: 0.5 is not an integer"}, {`"day": true`, "day: must be an integer"},
		{`"hour": -1`, "hour: must be between 0 and 23"}, {`"hour": 24`, "hour: must be between 0 and 23"}, {`"hour": "9"`, `hour: "9" is not an integer`},
		{`"type": null`, "type: required"}, {`"type": ""`, "type: required"}, {`"type": "email"`, `type: "email" is not one of: auto_email, manual_email, auto_linkedin_connection, auto_linkedin_message, call, task, gift`}, {`"type": "CALL"`, `type: "CALL" is not one of: `},
		{`"id": 7`, "id: must be a string"}, {`"id": "a b"`, "id: must be 1 to 100 letters"}, {`"id": "ü"`, "id: must be 1 to 100 letters"}, {`"id": "` + strings.Repeat("x", 101) + `"`, "id: must "},
		{`"title": ` + long(256), "title: must be at most 255 characters"}, {`"gift_id": ` + long(256), "gift_id: must be at most 255 characters"}, {`"gift_id": 7`, "gift_id: must be a string"},
		{`"subject": ` + long(999), "subject: must be at most 998 characters"}, {`"subject": "a\nBcc: b@x.example"`, "subject: must be a single line"}, {`"subject": "a\r"`, "subject: must be a single line"},
		{`"message": ` + long(100_001), "message: must be at most 100000 characters"}, {`"message": "a\u0000"`, "message: must not contain NUL characters"}, {`"message": {}`, "message: must be a string"},
		{`"delay": 1`, "delay: unknown field"},
	} {
		var step, wanted map[string]json.RawMessage
		_ = json.Unmarshal([]byte(`{"index": 1, "type": "call"}`), &step)
		if err := json.Unmarshal([]byte(`{`+c.member+`}`), &wanted); err != nil {
			t.Fatal(err)
		}
		for key, value := range wanted {
			step[key] = value
		}
		raw, _ := json.Marshal(step)
		tplRefused(t, org, path, tplBody(`"steps": [{"index": 0, "type": "call"}, `+string(raw)+`]`), "steps[1]."+c.want)
	}
	for _, message := range []string{``, `, "message": null`, `, "message": ""`, `, "message": " \n\t "`} {
		tplRefused(t, org, path, tplBody(`"steps": [{"index": 0, "type": "auto_email", "subject": "S"`+message+`}]`), "steps[0].message: required in an auto_email")
	}
	tplRefused(t, org, path, tplBody(`"steps": [{}]`), "steps[0].index: required", "steps[0].type: required")
	for _, c := range []struct{ member, want string }{
		{`"transition_type": "NEVER"`, "transition_type: \"NEVER\" is not one of: PREVIOUS_STEP_SCHEDULED, PREVIOUS_STEP_COMPLETES"},
		{`"pre_check_time_unit": "weeks"`, "pre_check_time_unit: \"weeks\" is not one of: minutes, hours, days, business_days"}, {`"post_check_time_unit": "Days"`, "post_check_time_unit: \"Days\" is not one of: minutes, hours, days, business_days"},
		{`"pre_check_delay": -1`, "pre_check_delay: must be between 0 and"}, {`"post_check_delay": -1`, "post_check_delay: must be between 0 and"},
		{`"pre_check_delay": 1.5`, "pre_check_delay: 1.5 is not an integer"}, {`"post_check_delay": "1"`, "post_check_delay: \"1\" is not an integer"},
		{`"pre_check_delay": 1`, "pre_check_time_unit: required with a delay"}, {`"post_check_delay": 1`, "post_check_time_unit: required with a delay"},
		{`"pre_check_delay": 1, "post_check_time_unit": "days"`, "pre_check_time_unit: required with a delay"}, {`"post_check_delay": 1, "pre_check_time_unit": "days", "post_check_time_unit": null`, "post_check_time_unit: required with a delay"},
		{`"pre_check_delay": 1001, "pre_check_time_unit": "days"`, "pre_check_delay: must be at most 1000 days, not 1001"}, {`"post_check_delay": 1001, "post_check_time_unit": "business_days"`, "post_check_delay: must be at most 1000 business days, not 1001"},
		{`"pre_check_delay": 10001, "pre_check_time_unit": "minutes"`, "pre_check_delay: must be between 0 and 10000"}, {`"post_check_delay": 10001, "post_check_time_unit": "hours"`, "post_check_delay: must be between 0 and 10000"},
		{`"require_all": "yes"`, "require_all: \"yes\" is not true or false"}, {`"id": "x"`, "id: unknown field"},
	} {
		if !strings.Contains(c.member, "transition_type") {
			c.member += `, "transition_type": "PREVIOUS_STEP_SCHEDULED"`
		}
		tplRefused(t, org, path, tplBody(`"transitions": [{"from_step_index": 0, "to_step_index": 1, `+c.member+`}]`), "transitions[0]."+c.want)
	}
	tplRefused(t, org, path, tplBody(`"transitions": [{}]`), "transitions[0].from_step_index: required", "transitions[0].to_step_index: required", "transitions[0].transition_type: required")
	// The length of a message includes its blocks.
	copies := func(steps int, message, content string) map[string]json.RawMessage {
		var list []string
		for i := range steps {
			list = append(list, fmt.Sprintf(`{"index": %d, "type": "call", "message": %q}`, i, message))
		}
		return tplBody(`"steps": [` + strings.Join(list, ",") + `], "blocks": {"x": {"name": "X", "content": "` + content + `"}}`)
	}
	const tooLong = "message: must be at most 100000 characters including blocks, not 100001"
	tplRefused(t, org, path, copies(2, strings.Repeat("a", 50_000)+"[[block:x]]b", strings.Repeat("ü", 50_000)), "steps[0]."+tooLong, "steps[1]."+tooLong)
	tplRefused(t, org, path, copies(1, "[[block:x]][[block:x]]b", strings.Repeat("a", 50_000)), "steps[0]."+tooLong)
	tplRefused(t, org, path, copies(11, "[[block:x]]", strings.Repeat("a", 91_000)), "steps: must have at most 1000000 characters in total, including blocks, not 1001000")
	tplRefused(t, org, path, copies(91, "[[block:x]]{{sender.email}}", strings.Repeat("{{sender.title}}", 10)), "steps: must have at most 1000 tokens in total, including blocks, not 1001")
	for _, body := range []string{`{}`, `{"description": "d"}`} {
		if got := apptest.Sorted(apptest.ProblemsOf(org.Write.Post(apptest.TemplatesPath, body).Is(422))); !slices.Equal(got, []string{"name: required", "steps: required"}) {
			t.Errorf("%s: unexpected problems %q", body, got)
		}
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}

	// The limits themselves are valid.
	var steps, transitions []string
	blocks := map[string]any{}
	for i := range 100 {
		steps = append(steps, fmt.Sprintf(`{"id": "%099d-", "index": %d, "type": "task", "day": 365, "hour": 23}`, i, 2*i))
		blocks[fmt.Sprintf("%099d_", i)] = map[string]string{"name": "B"}
		for range 10 {
			transitions = append(transitions, fmt.Sprintf(`{"from_step_index": %d, "to_step_index": %d, "transition_type": "PREVIOUS_STEP_SCHEDULED"}`, 2*(i/2), 198))
		}
	}
	tplRefused(t, org, path, tplBody(`"transitions": [`+strings.Join(append(transitions, transitions[0]), ",")+`]`), "transitions: must have at most 1000 entries")
	res := org.Write.Post(apptest.TemplatesPath, tplBody(fmt.Sprintf(`"name": %s, "description": %s, "steps": [%s], "transitions": [%s], "blocks": %s`,
		long(255), long(100_000), strings.Join(steps, ","), strings.Join(transitions, ","), apptest.Encoded(t, blocks)))).Is(201)
	if len(res.Value("data.steps").([]any)) != 100 || len(res.Value("data.blocks").(map[string]any)) != 100 {
		t.Errorf("%.500s", res.Body)
	}
	blocks["x"] = blocks[fmt.Sprintf("%099d_", 0)]
	tplRefused(t, org, path, tplBody(`"blocks": `+apptest.Encoded(t, blocks)), "blocks: must have at most 100 entries")
	for _, body := range []any{copies(2, "[[block:x]][[block:x]]", strings.Repeat("ü", 50_000)), copies(10, "[[block:x]]", strings.Repeat("a", 100_000)), copies(100, "[[block:x]]", strings.Repeat("{{sender.title}}", 10)),
		tplBody(`"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_SCHEDULED", "pre_check_delay": 1000, "pre_check_time_unit": "days", "post_check_delay": 10000, "post_check_time_unit": "minutes"}]`)} {
		org.Write.Patch(path, body).Is(200)
	}
	org.Write.Patch(path, tplBody(`"steps": [{"index": 0, "type": "auto_email", "title": `+long(255)+`, "subject": `+long(998)+`, "message": `+long(100_000)+`, "gift_id": `+long(255)+`}]`)).Is(200)
}

// TestTemplateTexts has texts with known and unknown tokens and blocks.
func TestTemplateTexts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	path := newTpl(org, ``)
	with := func(subject, message, content string) map[string]any {
		return map[string]any{"name": "T", "transitions": []any{}, "blocks": map[string]any{"x": map[string]string{"name": "X", "content": content}, "Y-1_": map[string]string{"name": "Y"}},
			"steps": []any{map[string]any{"index": 3, "type": "call"}, map[string]any{"index": 1, "type": "auto_email", "subject": subject, "message": "m" + message}}}
	}
	titled := func(title string) map[string]any {
		return map[string]any{"name": "T", "transitions": []any{}, "steps": []any{map[string]any{"index": 3, "type": "call", "title": title}, map[string]any{"index": 1, "type": "auto_email", "title": title, "message": "m"}}}
	}
	before := org.Dump()
	// In titles, subjects, messages and blocks alike.
	for text, want := range map[string]string{
		"{{first_name}}":                       "unknown token {{first_name}}; did you mean {{recipient.first_name}}?",
		"a {{ recipient.phone }} b":            "unknown token {{ recipient.phone }}",
		"{{recipient.titel}}":                  "unknown token {{recipient.titel}}; did you mean {{recipient.title}}?",
		"{{Recipient.first_name}}":             "unknown token {{Recipient.first_name}}",
		"{{recipient .email}}":                 "unknown token {{recipient .email}}",
		"{{company}}":                          "unknown token {{company}}",
		"{{recipient.}}":                       "unknown token {{recipient.}}",
		"{{}}":                                 "unknown token {{}}",
		"{{ }}":                                "unknown token {{ }}",
		"{{{recipient.email}}}":                "unknown token {{{recipient.email}}",
		"{{sender.emails | upper}}":            "unknown token {{sender.emails | upper}}",
		"{{recipient.email":                    "{{ has no closing }}",
		"{{recipient.email}":                   "{{ has no closing }}",
		"{{sender.title}} {{":                  "{{ has no closing }}",
		"{{block:x}}":                          "unknown token {{block:x}}",
		"{{" + strings.Repeat("ü", 500) + "}}": "unknown token {{" + strings.Repeat("ü", 58) + "…",
		"[[block:":                             "[[block: has no closing ]]",
		"[[block:x]":                           "[[block: has no closing ]]",
		"[[block:{{recipient.email}}":          "[[block: has no closing ]]",
	} {
		if len(text) < 255 { // the maximum length of a title
			tplRefused(t, org, path, titled(text), "steps[0].title: "+want, "steps[1].title: "+want)
		}
		tplRefused(t, org, path, with(text, "", ""), "steps[1].subject: "+want)
		tplRefused(t, org, path, with("", text, ""), "steps[1].message: "+want)
		tplRefused(t, org, path, with("", "", text), "blocks.x.content: "+want)
	}
	for _, text := range []string{"[[block:x]]", "[[block:Y-1_]]", "[[block:nope]]"} {
		tplRefused(t, org, path, titled(text), "steps[0].title: "+text+" is not allowed: a title cannot include a block", "steps[1].title: "+text+" is not allowed: a title cannot include a block")
		tplRefused(t, org, path, with(text, "", ""), "steps[1].subject: "+text+" is not allowed: a subject cannot include a block")
		tplRefused(t, org, path, with("", "", text), "blocks.x.content: "+text+" is not allowed: a block cannot include another block")
	}
	for _, text := range []string{"[[block:nope]]", "[[block:X]]", "[[block:]]", "[[block:x y]]", "[[block:{{recipient.email}}]]", "[[block:Y-1]]"} {
		tplRefused(t, org, path, with("", text, ""), "steps[1].message: unknown block "+text)
	}
	tplRefused(t, org, path, with("{{a}} {{b}}", "{{a}} [[block:a]] {{c.d}} {{", "{{e}}"), "steps[1].subject: unknown token {{a}}", "steps[1].subject: unknown token {{b}}",
		"steps[1].message: unknown token {{a}}", "steps[1].message: unknown block [[block:a]]", "steps[1].message: unknown token {{c.d}}", "steps[1].message: {{ has no closing }}", "blocks.x.content: unknown token {{e}}")
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	for _, text := range []string{"{{recipient.first_name}}{{recipient.last_name}}{{recipient.company}}{{recipient.email}}{{sender.first_name}}{{sender.last_name}}{{sender.company}}{{sender.title}}{{sender.email}}",
		"{{ recipient.first_name}} {{recipient.last_name }} {{  sender.email\t}}", "{ {recipient.email} } }} }", "[block:x]", "[[ block:x]]", "[[blocks]]", "]]", "{%nope%} ${x} <%= y %> &amp;"} {
		body := with(text, text+"[[block:x]][[block:Y-1_]][[block:x]]\n", text)
		res := org.Write.Patch(path, body).Is(200)
		if res.Text("data.steps.1.subject") != text || res.Text("data.steps.1.message") != "m"+text+"[[block:x]][[block:Y-1_]][[block:x]]\n" || res.Text("data.blocks.x.content") != text {
			t.Errorf("sent %q, stored as %s", text, res.Body)
		}
		org.Write.Post(apptest.TemplatesPath, body).Is(201)
		text = strings.ReplaceAll(text, "\t", " ") // a title has no control characters
		if got := org.Write.Post(apptest.TemplatesPath, titled(text)).Is(201).Text("data.steps.0.title"); got != text {
			t.Errorf("sent title %q, stored as %q", text, got)
		}
	}
}

// tplLinks returns transitions, each given as from and to.
func tplLinks(pairs ...[2]int) string {
	var list []string
	for _, p := range pairs {
		list = append(list, fmt.Sprintf(`{"from_step_index": %d, "to_step_index": %d, "transition_type": "PREVIOUS_STEP_COMPLETES"}`, p[0], p[1]))
	}
	return `"transitions": [` + strings.Join(list, ",") + `]`
}

// TestTemplateTransitions has transitions that lead nowhere or form a cycle.
func TestTemplateTransitions(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	path := newTpl(org, ``)
	before := org.Dump()
	const noStep, itself, cycle = "is not the index of a step", "must not be equal to from_step_index", "closes a cycle through step"
	for _, c := range []struct {
		links string
		want  []string
	}{
		{tplLinks([2]int{0, 3}), []string{"transitions[0].to_step_index: 3 " + noStep}},
		{tplLinks([2]int{0, 1}, [2]int{-1, 2}), []string{"transitions[1].from_step_index: -1 " + noStep}},
		{tplLinks([2]int{8, 9}), []string{"transitions[0].from_step_index: 8 " + noStep, "transitions[0].to_step_index: 9 " + noStep}},
		{tplLinks([2]int{1, 1}), []string{"transitions[0].to_step_index: " + itself}},
		{tplLinks([2]int{0, 1}, [2]int{1, 0}), []string{"transitions[1].to_step_index: " + cycle}},
		{tplLinks([2]int{1, 0}, [2]int{0, 1}), []string{"transitions[0].to_step_index: " + cycle}},
		{tplLinks([2]int{0, 1}, [2]int{1, 2}, [2]int{2, 0}), []string{"transitions[2].to_step_index: " + cycle}},
		{tplLinks([2]int{0, 1}, [2]int{1, 2}, [2]int{2, 1}), []string{"transitions[2].to_step_index: " + cycle}},
		{tplLinks([2]int{0, 1}, [2]int{1, 0}, [2]int{2, 2}, [2]int{2, 4}), []string{"transitions[1].to_step_index: " + cycle, "transitions[2].to_step_index: " + itself, "transitions[3].to_step_index: 4 " + noStep}},
	} {
		tplRefused(t, org, path, tplBody(c.links), c.want...)
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	// Several paths to the same step, in any order, are not a cycle.
	for _, links := range []string{tplLinks(), tplLinks([2]int{0, 1}, [2]int{0, 2}, [2]int{1, 2}), tplLinks([2]int{1, 2}, [2]int{0, 2}, [2]int{0, 1}, [2]int{0, 1}), tplLinks([2]int{2, 1}, [2]int{1, 0})} {
		org.Write.Patch(path, tplBody(links)).Is(200)
	}
	const four = `"steps": [{"index": 40, "type": "call"}, {"index": 30, "type": "call"}, {"index": 20, "type": "call"}, {"index": 10, "type": "call"}], `
	org.Write.Patch(path, tplBody(four+tplLinks([2]int{10, 20}, [2]int{10, 30}, [2]int{20, 40}, [2]int{30, 40}))).Is(200)
	tplRefused(t, org, path, tplBody(four+tplLinks([2]int{10, 20}, [2]int{10, 30}, [2]int{20, 40}, [2]int{30, 40}, [2]int{40, 10})), "transitions[2].to_step_index: "+cycle, "transitions[3].to_step_index: "+cycle)
}

// TestTemplateAtOnce has bodies with many problems. All of them are reported, each with its path.
func TestTemplateAtOnce(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	path := newTpl(org, ``)
	before := org.Dump()
	for _, c := range []struct {
		members string
		want    []string
	}{
		{`"steps": [{"index": 0, "type": "call", "id": "a"}, {"index": 0, "type": "call", "id": "b"}, {"index": 1, "type": "call", "id": "a"}, {"index": 0, "type": "call", "id": "b"}]`,
			[]string{"steps[1].index: 0 is also the index of steps[0]", "steps[2].id: \"a\" is also the id of steps[0]", "steps[3].index: 0 is also the index of steps[0]", "steps[3].id: \"b\" is also the id of steps[1]"}},
		// Positions are those in the body.
		{`"steps": [7, null, {"index": 5, "type": "auto_email"}, [], {"index": 5, "type": "call", "message": "{{x}}"}]`,
			[]string{"steps[0]: must be an object", "steps[1]: must be an object", "steps[2].message: required", "steps[3]: must be an object", "steps[4].index: 5 is also the index of steps[2]", "steps[4].message: unknown token"}},
		{`"steps": ["", {"index": 5, "type": "auto_email"}]`, []string{"steps[0]: must", "steps[1].message: required"}},
		{tplLinks([2]int{0, 1})[:16] + `"", ` + tplLinks([2]int{0, 1}, [2]int{4, 1})[16:], []string{"transitions[0]: must", "transitions[2].from_step_index: 4 is not the index of a step"}},
		{`"transitions": [7, null, {"from_step_index": 0, "to_step_index": 0, "transition_type": "PREVIOUS_STEP_COMPLETES"}]`,
			[]string{"transitions[0]: must be an object", "transitions[1]: must be an object", "transitions[2].to_step_index: must not be equal"}},
		// A problem in one field of a step hides no problem of another.
		{`"steps": [{"index": 0, "type": "call"}, {"index": 0, "type": "call", "hour": 24}]`, []string{"steps[1].hour: must", "steps[1].index: 0 is also the index of steps[0]"}},
		{`"steps": [{"index": 0, "type": "call", "day": "x"}, {"index": 0, "type": "call"}]`, []string{"steps[0].day: \"x\" is not an integer", "steps[1].index: 0 is also the index of steps[0]"}},
		{`"steps": [{"index": "0", "type": "call"}, {"index": 0, "type": "call"}]`, []string{"steps[0].index: \"0\" is not an integer"}},
		{`"steps": [{"index": 0, "type": "call"}, {"index": 1, "type": "call", "message": "{{x}}"}], ` + tplLinks([2]int{0, 7}), []string{"steps[1].message: unknown token", "transitions[0].to_step_index: 7 is not the index of a step"}},
		{`"steps": [{"index": 0, "type": "call"}, {"index": 1, "type": "call", "hour": 24}], ` + tplLinks([2]int{1, 1}, [2]int{0, 7}), []string{"steps[1].hour: must", "transitions[0].to_step_index: must not be equal", "transitions[1].to_step_index: 7 is not the index of a step"}},
		{`"transitions": [{"from_step_index": 0, "to_step_index": 7, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_time_unit": "weeks"}]`, []string{"transitions[0].pre_check_time_unit: \"weeks\" is not one of: minutes", "transitions[0].to_step_index: 7 is not the index of a step"}},
		{`"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "NEVER", "pre_check_delay": 2}]`, []string{"transitions[0].transition_type: \"NEVER\" is not one of: PREVIOUS_STEP_SCHEDULED", "transitions[0].pre_check_time_unit: required with a delay"}},
		// The step of an unreadable index is unknown.
		{`"steps": [{"index": 0, "type": "call"}, {"index": "1", "type": "call"}], ` + tplLinks([2]int{0, 1}), []string{`steps[1].index: "1" is not an integer`}},
		{`"blocks": {"e": {"name": "E", "content": "{{x}}"}, "d": {"name": "D", "content": "{{x}}"}, "c": {"name": "C", "content": "[[block:d]]"}, "b": {"name": "B", "content": "{{"}, "a": {"name": "A", "content": "[[block:a]]"}}`,
			[]string{"blocks.a.content", "blocks.b.content", "blocks.c.content", "blocks.d.content", "blocks.e.content"}},
		{`"name": "", "description": 1, "x": 2, "steps": [{"index": 0, "type": "auto_email", "subject": "a\nb {{c}}", "y": 1}], "blocks": {"a": {"name": "A", "content": "{{z}}"}, "b b": {}}, ` + tplLinks([2]int{0, 0}),
			[]string{"name: required", "description: must be a string", "x: unknown field", "steps[0].y: unknown field", "steps[0].message: required", "steps[0].subject: must be a single line", "steps[0].subject: unknown token",
				"blocks.a.content: unknown token {{z}}", "blocks.b b: must", "transitions[0].to_step_index: must not be equal"}},
	} {
		tplRefused(t, org, path, tplBody(c.members), c.want...)
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
}

// TestTemplateList filters and sorts templates by every field.
func TestTemplateList(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ids := map[string]string{"ADA": org.User.String()}
	for _, c := range []struct{ name, members string }{
		{"a", `"description": "First words", "steps": [{"id": "s1", "index": 0, "type": "call"}, {"id": "s2", "index": 1, "type": "call"}], "blocks": {"x": {"name": "X"}, "y": {"name": "Y"}}`},
		{"b", `"steps": [{"id": "s2", "index": 0, "type": "call"}], "blocks": {"y": {"name": "Words"}}`},
		{"c", `"description": "Other", "steps": [{"index": 0, "type": "call", "message": "words"}]`},
	} {
		ids[strings.ToUpper(c.name)] = lastOf(newTpl(org, `"name": "`+c.name+`", `+c.members))
		app.Clock.Advance(time.Hour)
	}
	org.Write.Patch(apptest.TemplatesPath+"/"+ids["B"], `{"status": "INACTIVE"}`).Is(200)
	org.Write.Patch(apptest.TemplatesPath+"/"+ids["C"], `{"status": "ARCHIVED"}`).Is(200)
	ids["MADE"] = org.Read.Get(apptest.TemplatesPath + "/" + ids["C"]).Is(200).Text("data.steps.0.id")
	list := func(body string) *apptest.Response {
		return org.Read.Post(apptest.TemplatesPath+"/list", apptest.WithIDs(body, ids))
	}
	for rule, want := range map[string]string{
		`"id", "condition": "is", "value": ["{A}", "{C}"]`: "ac", `"created_at", "condition": "is_after", "value": "2026-03-02T09:30:00Z"`: "bc", `"updated_at", "condition": "is_before", "value": "2026-03-02T09:30:00Z"`: "a",
		`"name", "condition": "is", "value": "b"`: "b", `"kind", "condition": "is", "value": "USER_GENERATED"`: "abc", `"kind", "condition": "is_not", "value": "USER_GENERATED"`: "",
		`"status", "condition": "is", "value": ["ACTIVE", "ARCHIVED"]`: "ac", `"status", "condition": "is_not", "value": "ACTIVE"`: "bc",
		`"description", "condition": "contains", "value": "T WORD"`: "a", `"description", "condition": "is_empty"`: "b", `"owner_id", "condition": "is", "value": "{ADA}"`: "abc", `"owner_id", "condition": "is_empty"`: "",
		`"is_default", "condition": "is", "value": false`: "abc", `"is_default", "condition": "is", "value": true`: "", `"archived_at", "condition": "is", "value": "2026-03-02"`: "c", `"archived_at", "condition": "is_empty"`: "ab",
		`"steps", "condition": "is", "value": "s2"`: "ab", `"steps", "condition": "is", "value": ["s1", "{MADE}"]`: "ac", `"steps", "condition": "is_not", "value": ["s1"]`: "bc", `"steps", "condition": "contains", "value": ["s1", "s2"]`: "a",
		`"steps", "condition": "not_contains", "value": ["s1", "s2"]`: "bc", `"steps", "condition": "is_empty"`: "", `"steps", "condition": "is_not_empty"`: "abc",
		`"blocks", "condition": "is", "value": ["x", "Words"]`: "a", `"blocks", "condition": "is_not", "value": "x"`: "bc", `"blocks", "condition": "contains", "value": "y"`: "ab", `"blocks", "condition": "contains", "value": ["x", "y"]`: "a",
		`"blocks", "condition": "not_contains", "value": ["x", "y"]`: "bc", `"blocks", "condition": "is_empty"`: "c", `"blocks", "condition": "is_not_empty"`: "ab",
	} {
		t.Run(rule, func(t *testing.T) {
			if got := strings.Join(org.Read.In(t).Post(apptest.TemplatesPath+"/list", apptest.WithIDs(`{"sort": "name", "filters": [{"field": `+rule+`}]}`, ids)).Is(200).Column("name"), ""); got != want {
				t.Errorf("%s finds %q, want %q", rule, got, want)
			}
		})
	}
	for body, want := range map[string]string{`{}`: "cba", `{"sort": "status"}`: "acb", `{"sort": "-name"}`: "cba", `{"sort": "archived_at,name"}`: "cab", `{"sort": "-is_default,-updated_at,kind,owner_id,id,created_at"}`: "bca", `{"search": "first WOR"}`: "a", `{"search": "nobody"}`: ""} {
		if got := strings.Join(list(body).Is(200).Column("name"), ""); got != want {
			t.Errorf("%s lists %q, want %q", body, got, want)
		}
	}
	first := list(`{"page_size": 1, "sort": "name"}`).Is(200)
	if d := apptest.Diff(string(apptest.DataOf(org.Read.Get(apptest.TemplatesPath+"/"+ids["A"]))), apptest.Encoded(t, first.Value("data.0"))); d != "" || first.Int("pagination.total_count") != 3 {
		t.Errorf("%s %s", d, first.Body)
	}

	// The schema and the list agree on every field and condition.
	schema := org.Read.Get("/v1/schemas/sequence-templates").Is(200)
	var fields []filter.SchemaField
	if err := json.Unmarshal(apptest.Member(schema, "fields"), &fields); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, f := range fields {
		shown = append(shown, f.Key+" "+f.Type)
		value := map[string]string{"text": `"x"`, "boolean": `true`, "datetime": `"2026-03-01"`, "multi": `"x"`, "reference": `"` + ids["A"] + `"`}[f.Type]
		if f.Enum != nil {
			value = `"` + f.Enum.AllowedValues[0] + `"`
		}
		for _, condition := range filter.AllConditions {
			rule := fmt.Sprintf(`{"filters": [{"field": %q, "condition": %q, "value": %s}]}`, f.Key, condition, value)
			switch {
			case strings.HasSuffix(string(condition), "_empty"):
				rule = fmt.Sprintf(`{"filters": [{"field": %q, "condition": %q}]}`, f.Key, condition)
			case condition == filter.Between:
				rule = fmt.Sprintf(`{"filters": [{"field": %q, "condition": %q, "value": [%s, %s]}]}`, f.Key, condition, value, value)
			}
			if res := list(rule); slices.Contains(f.Conditions, condition) {
				res.Is(200)
			} else {
				res.Fails(422, "invalid_filter", "filters[0].condition")
			}
		}
		if res := list(`{"sort": "-` + f.Key + `"}`); f.Sortable {
			res.Is(200)
		} else {
			res.Fails(422, "invalid_sort", f.Key)
		}
		if given := slices.Contains([]string{"name", "status", "description", "steps", "blocks"}, f.Key); f.ReadOnly == given || f.Sortable == (f.Type == "multi" || f.Key == "description") {
			t.Errorf("%+v", f)
		}
	}
	want := []string{"id reference", "created_at datetime", "updated_at datetime", "name text", "kind enum", "status enum", "description text", "owner_id reference", "is_default boolean", "archived_at datetime", "steps multi", "blocks multi"}
	if !slices.Equal(apptest.Sorted(shown), apptest.Sorted(want)) || schema.Text("data.default_sort") != "-created_at" {
		t.Errorf("the schema has %q, want %q", apptest.Sorted(shown), apptest.Sorted(want))
	}
	for _, field := range []string{"transitions", "steps.id", "version", "nope"} {
		list(`{"filters": [{"field": "`+field+`", "condition": "is_empty"}]}`).Fails(422, "invalid_filter", "filters[0].field")
	}
}
