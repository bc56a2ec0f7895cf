package browsertest

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestDocs opens every page of the API's documentation. Each stays at its own address and shows the operations of its
// group, and links to the page that had everything lead to the page that has it now.
func TestDocs(t *testing.T) {
	b := open(t, 1280)
	pages := operationsByGroup(t)
	pages["events"], pages["types"] = []string{"events", "event-contact.created"}, []string{"schemas", "schema-Contact"}
	b.readsDocs("/docs", []string{"start", "authentication", "operations"})
	for name, ids := range pages {
		b.readsDocs("/docs/"+name, ids)
	}
	b.run(chromedp.Navigate(shared.url + "/docs#create_contact"))
	b.until(`location.pathname + location.hash === '/docs/contacts#create_contact'`)
}

// operationsByGroup returns the operations of the API's document by their tag.
func operationsByGroup(t *testing.T) map[string][]string {
	t.Helper()
	groups := map[string][]string{}
	for _, methods := range shared.call(t, http.MethodGet, "/openapi.json", nil)["paths"].(map[string]any) {
		for _, m := range methods.(map[string]any) {
			operation, ok := m.(map[string]any)
			if !ok || operation["tags"] == nil {
				continue
			}
			tag := operation["tags"].([]any)[0].(string)
			groups[tag] = append(groups[tag], operation["operationId"].(string))
		}
	}
	if len(groups) < 10 {
		t.Fatalf("the document has %d groups of operations", len(groups))
	}
	return groups
}

// readsDocs opens a page of the documentation and checks that it stays there and shows its sections.
func (b *tab) readsDocs(path string, ids []string) {
	b.t.Helper()
	b.run(chromedp.Navigate(shared.url + path))
	if at := eval[string](b, `location.pathname`); at != path {
		b.t.Errorf("%s went to %s", path, at)
		return
	}
	for _, id := range ids {
		if !eval[bool](b, `Boolean(document.getElementById(`+quote(id)+`)?.checkVisibility())`) {
			b.t.Errorf("%s does not show %s", path, id)
		}
	}
}
