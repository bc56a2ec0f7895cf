package browsertest

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// pictured are the addresses of the pages that pictures show. make screenshots takes them on a demo that no other test
// has changed.
func pictured(t *testing.T) map[string]string {
	t.Helper()
	if os.Getenv("PROSPECTOR_SCREENSHOTS") == "" {
		t.Skip("run by make screenshots")
	}
	if shared == nil {
		t.Fatal("no browser is installed")
	}
	id := func(list, search string) string {
		return shared.first(t, "/v1/"+list+"/list", map[string]any{"search": search})["id"].(string)
	}
	paths := map[string]string{
		"home": "/", "contacts": "/contacts?f=title:contains:vp&sort=last_name", "outbox": "/outbox", "tasks": "/tasks?f=status:is:open",
		"contact":  "/contacts/" + shared.first(t, "/v1/sequences/list", map[string]any{"page_size": 1})["contact_id"].(string),
		"template": "/templates/" + id("sequence-templates", "LinkedIn"), "campaign": "/campaigns/" + id("campaigns", "Buyers, by email"),
		"webhook": "/settings/webhooks/" + id("webhooks/subscriptions", ""),
	}
	for _, p := range shared.call(t, http.MethodPost, "/v1/tam/previews/list", map[string]any{})["data"].([]any) {
		if p := p.(map[string]any); p["operation_id"] == nil {
			paths["preview"] = fmt.Sprint("/previews/", p["preview_id"]) // not imported yet
		}
	}
	return paths
}

// pose opens a page in a theme and waits until everything on it is drawn.
func (b *tab) pose(path, theme string) {
	b.t.Helper()
	b.ready(path)
	b.setTheme(theme)
	b.until(`!document.querySelector('.skeleton') && !/…/.test([...document.querySelectorAll('td')].map((e) => e.innerText).join())`)
	b.until(`document.querySelectorAll('.graph').length === 0 || document.querySelectorAll(".graph .stroke").length > 0 && /[0-9]:[0-9]/.test(document.querySelector(".graph").textContent)`)
}

// TestScreenshots takes the pictures of docs/console.md.
func TestScreenshots(t *testing.T) {
	paths := pictured(t)
	for _, c := range []struct {
		name, page, theme string
		width             int64
		script            string
	}{
		{"contacts", "contacts", "light", 1280, ""},
		{"contact", "contact", "light", 1280, ""},
		{"template", "template", "light", 1280, `document.querySelector('main').scrollTop = 1e6`},
		{"campaign", "campaign", "dark", 1280, ""},
		{"preview", "preview", "dark", 1280, ""},
		{"tasks-phone", "tasks", "light", 390, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, c.width)
			b.signIn()
			b.pose(paths[c.page], c.theme)
			_ = eval[bool](b, c.script+`; true`)
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

// TestReview takes the pictures that are looked at before a release, and says how much each differs from that of the
// previous run.
func TestReview(t *testing.T) {
	paths := pictured(t)
	dir := os.Getenv("PROSPECTOR_REVIEW")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, look := range []struct {
		name, theme string
		width       int64
	}{{"light", "light", 1440}, {"dark", "dark", 1440}, {"phone", "light", 390}} {
		b := open(t, look.width)
		b.signIn()
		for _, page := range []string{"home", "contacts", "contact", "preview", "template", "campaign", "outbox", "webhook"} {
			b.pose(paths[page], look.theme)
			var picture []byte
			b.run(chromedp.CaptureScreenshot(&picture))
			path := filepath.Join(dir, page+"-"+look.name+".png")
			before, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			difference := "new"
			if err == nil {
				difference = fmt.Sprintf("%.1f %% of the pixels differ", 100*differing(t, before, picture))
			}
			t.Logf("%-20s %s", filepath.Base(path), difference)
			if err := os.WriteFile(path, picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// differing returns the share of the pixels of two pictures that are not the same.
func differing(t *testing.T, a, b []byte) float64 {
	t.Helper()
	var pictures [2]image.Image
	for i, encoded := range [][]byte{a, b} {
		picture, err := png.Decode(bytes.NewReader(encoded))
		if err != nil {
			t.Fatal(err)
		}
		pictures[i] = picture
	}
	bounds := pictures[1].Bounds()
	if pictures[0].Bounds() != bounds {
		return 1
	}
	n := 0
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if pictures[0].At(x, y) != pictures[1].At(x, y) {
				n++
			}
		}
	}
	return float64(n) / float64(bounds.Dx()*bounds.Dy())
}
