package browsertest

import (
	"fmt"
	"net/http"
	"os"
	"testing"
)

// TestScreenshots takes the pictures of docs/console.md. make screenshots runs it alone, on a demo that no other test
// has changed.
func TestScreenshots(t *testing.T) {
	if os.Getenv("PROSPECTOR_SCREENSHOTS") == "" {
		t.Skip("run by make screenshots")
	}
	var preview string
	for _, p := range shared.call(t, http.MethodPost, "/v1/tam/previews/list", map[string]any{})["data"].([]any) {
		if p := p.(map[string]any); p["operation_id"] == nil {
			preview = fmt.Sprint("/previews/", p["preview_id"]) // not imported yet
		}
	}
	campaign := "/campaigns/" + shared.first(t, "/v1/campaigns/list", map[string]any{"search": "Buyers, by email"})["id"].(string)
	template := "/templates/" + shared.first(t, "/v1/sequence-templates/list", map[string]any{"search": "LinkedIn"})["id"].(string)
	sequence := shared.first(t, "/v1/sequences/list", map[string]any{"page_size": 1})
	for _, c := range []struct {
		name, path, theme string
		width             int64
		script            string
	}{
		{"contacts", "/contacts?f=title:contains:vp&sort=last_name", "light", 1280, ""},
		{"contact", "/contacts/" + sequence["contact_id"].(string), "light", 1280, ""},
		{"template", template, "light", 1280, `document.querySelector('main').scrollTop = 1e6`},
		{"campaign", campaign, "dark", 1280, ""},
		{"preview", preview, "dark", 1280, ""},
		{"tasks-phone", "/tasks?f=status:is:open", "light", 390, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, c.width)
			b.signIn()
			b.ready(c.path)
			b.setTheme(c.theme)
			b.until(`!document.querySelector('.skeleton') && !/…/.test([...document.querySelectorAll('td')].map((e) => e.innerText).join())`)
			_ = eval[bool](b, c.script+`; true`)
			b.until(`document.querySelectorAll('.graph').length === 0 || document.querySelectorAll(".graph .stroke").length > 0 && /[0-9]:[0-9]/.test(document.querySelector(".graph").textContent)`)
			b.screenshot(c.name)
		})
	}
	t.Run("import", func(t *testing.T) {
		b := open(t, 1280)
		b.signIn()
		b.visit("/imports/new")
		b.chooseFile("customers.csv", "Vorname;Nachname;E-Mail;Firma;Position;Mitarbeiter\nJürgen;Groß;juergen@alder.example;Alder Analytics;Geschäftsführer;51-200\nMaría;Peña;maria@birch.example;Birch Labs;VP Sales;1.200\nLeo;Marino;keine Adresse;Cedar;CTO;k.A.\n")
		b.until(bar("Rows") + ` === '3'`)
		b.screenshot("import")
	})
}
