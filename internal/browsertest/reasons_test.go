package browsertest

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// apiReasons returns the reasons that the API describes: the values of properties whose name ends with reason, and the
// names in the descriptions of those that are not enumerated.
func apiReasons(t *testing.T) (reasons []string) {
	t.Helper()
	name := regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`)
	described := map[string]bool{"Qualification.reason": true, "SimulationSummary.skipped": true, "SimulationSummary.held": true}
	var values func(schema any)
	values = func(schema any) {
		s, _ := schema.(map[string]any)
		list, _ := s["enum"].([]any)
		for _, v := range list {
			if text, ok := v.(string); ok {
				reasons = append(reasons, text)
			}
		}
		either, _ := s["anyOf"].([]any)
		for _, other := range either {
			values(other)
		}
	}
	schemas := shared.call(t, http.MethodGet, "/openapi.json", nil)["components"].(map[string]any)["schemas"].(map[string]any)
	for of, schema := range schemas {
		properties, _ := schema.(map[string]any)["properties"].(map[string]any)
		for key, p := range properties {
			if strings.HasSuffix(key, "reason") {
				values(p)
			}
			if described[of+"."+key] {
				found := name.FindAllString(fmt.Sprint(p.(map[string]any)["description"]), -1)
				if len(found) == 0 {
					t.Errorf("%s.%s names no reasons", of, key)
				}
				reasons = append(reasons, found...)
			}
		}
	}
	return reasons
}

// TestReasons requires a sentence for each reason of the API, and that pages show no name of one.
func TestReasons(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	reasons := apiReasons(t)
	if len(reasons) < 40 {
		t.Errorf("the API describes only %d reasons", len(reasons))
	}
	source, err := os.ReadFile("../console/web/js/text.js")
	if err != nil {
		t.Fatal(err)
	}
	texts := strings.ReplaceAll(string(source), "\nexport ", "\n")
	for _, reason := range append(reasons, "http_503") {
		sentence := eval[string](b, fmt.Sprintf("(() => { %s\nreturn why(%s); })()", texts, quote(reason)))
		if !strings.Contains(sentence, " ") || sentence == strings.ToLower(strings.ReplaceAll(reason, "_", " ")) {
			t.Errorf("the reason %s has no sentence, only %q", reason, sentence)
		}
	}
	paths := pagePaths(t)
	for _, name := range []string{"home", "previews", "preview", "one of campaigns", "one of contacts", "outbox"} {
		b.ready(paths[name])
		if raw := eval[[]string](b, `document.querySelector('main').innerText.match(/\b[A-Za-z]+_[A-Za-z_]+\b/g) || []`); len(raw) > 0 {
			t.Errorf("%s shows %v", name, raw)
		}
	}
}

// TestLeftAudience requires that the page of a contact who left an audience says so, and does not advise to add them to it.
func TestLeftAudience(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	title := fmt.Sprint("Leaver", b.number)
	contact := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Jan", "last_name": title, "title": title, "email": strings.ToLower(title) + "@left.example"})
	audience := shared.create(t, "/v1/audiences", map[string]any{"name": title, "type": "dynamic", "filters": []any{map[string]any{"field": "title", "condition": "is", "value": title}}})
	shared.create(t, "/v1/campaigns", map[string]any{"name": title, "status": "active", "audience_ids": []string{audience}, "template_id": shared.first(t, "/v1/sequence-templates/list", map[string]any{"search": "Three emails"})["id"]})
	wait := func(is func(sequence map[string]any) bool) {
		t.Helper()
		query := map[string]any{"filters": []any{map[string]any{"field": "contact_id", "condition": "is", "value": contact}}}
		for end := time.Now().Add(20 * time.Second); ; {
			found := shared.call(t, http.MethodPost, "/v1/sequences/list", query)["data"].([]any)
			if len(found) == 1 && is(found[0].(map[string]any)) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the sequences are %v", found)
			}
		}
	}
	wait(func(s map[string]any) bool { return s["status"] == "active" })
	shared.call(t, http.MethodPatch, "/v1/contacts/"+contact, map[string]any{"title": "Somebody else"})
	wait(func(s map[string]any) bool { return s["reason"] == "left_audience" })
	b.ready("/contacts/" + contact)
	b.shows("left the audience of a campaign, which does not go on")
	b.shows("stopped: left the audience")
	if eval[bool](b, `document.querySelector('main').innerText.includes('left_audience') || document.querySelector('main').innerText.includes('Add Jan')`) {
		t.Error("the page names the reason as the API does, or advises to add the contact")
	}
}
