package console

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// appSources returns the scripts and style sheets by their paths.
func appSources(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(web, "web", func(name string, _ fs.DirEntry, err error) error {
		if ext := path.Ext(name); err == nil && (ext == ".js" || ext == ".css") {
			var body []byte
			body, err = web.ReadFile(name)
			files[strings.TrimPrefix(name, "web/")] = string(body)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestApp requires that the scripts are served without comments, and with the text of their templates but its
// line breaks and indentation, and that the style sheets are served in the order of their layers.
func TestApp(t *testing.T) {
	served, _, err := App()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name, file := range served {
		_, name, _ = strings.Cut(name, "/")
		files[name] = string(file.Body)
	}
	if style := files["console.css"]; !strings.HasPrefix(style, "@layer tokens,base,components,pages;@layer tokens{") {
		t.Errorf("the style sheet begins with %.100s", style)
	}
	scripts := files[mainScript] + files[pagesScript]
	if strings.Contains(scripts, "@ts-check") || strings.Contains(scripts, "/**") {
		t.Error("the scripts are served with comments")
	}
	text := regexp.MustCompile("`<[^`$]+[`$]") // the beginning of a template
	for name, source := range appSources(t) {
		if path.Ext(name) != ".js" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, beginning := range text.FindAllString(source, -1) {
				if !strings.Contains(scripts, compact(beginning)) {
					t.Errorf("%s is not served", beginning)
				}
			}
		})
	}
}

// TestJoin checks what the scripts of joined modules contain, and that modules in other forms are refused.
func TestJoin(t *testing.T) {
	usual := modules{
		"main.js":       "import { add } from './sum.js';\nvoid import('./pages/list.js');\nvoid import('./dialog.js');\nadd({ add });",
		"sum.js":        "const one = 1;\nexport const add = (value, by = one) => { const sum = value + by; return { sum, by }; };",
		"dialog.js":     "/** @type {import('./sum.js').add} */\nlet sum = 0;\nexport class Dialog { #shown = sum; show() { return this.#shown; } }",
		"pages/list.js": "import { add as plus } from '../sum.js';\nimport { Dialog } from '../dialog.js';\nexport async function list() { return plus(new Dialog()); }",
	}
	scripts, err := usual.join()
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		mainScript: "const e = 1; const t = (t, n = e) => { const s = t + n; return {sum: s, by: n}; }; " +
			"void import('./pages.js'); void import('./pages.js'); t({add: t}); export { t };",
		pagesScript: "import { t } from './main.js'; let n = 0; class s { #e = n; show () { return this.#e; } } " +
			"async function o() { return t(new s()); } export { s as Dialog, o as list };",
	} {
		if got := strings.Join(strings.Fields(string(scripts[script])), " "); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", script, got, want)
		}
	}
	for _, wrong := range []string{
		"import x from './sum.js';", "import * as x from './sum.js';", "export * from './sum.js';", "export let x = 1;",
		"export { one };", "export default 1;", "import { add } from './absent.js';", "import { one } from './sum.js';", "void import('./absent.js');", "e();",
		"export function list() {}", "const",
	} {
		t.Run(wrong, func(t *testing.T) {
			with := maps.Clone(usual)
			with["dialog.js"] = wrong
			with["pages/list.js"] = "export const list = 1;"
			if _, err := with.join(); err == nil || !strings.Contains(err.Error(), "dialog.js: ") && !strings.Contains(err.Error(), "because dialog.js") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestAppCode refuses code that turns text into markup or code, or that leaves the server. The browser would
// refuse most of it too, but only when it runs.
func TestAppCode(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:|https?://[a-z]`)
	for name, body := range appSources(t) {
		for line := range strings.Lines(body) {
			line = strings.TrimSpace(line)
			isPolicy := name == "js/dom.js" && (strings.HasPrefix(line, "template.innerHTML = ") || strings.HasPrefix(line, "const forbidden = "))
			isExample := strings.Contains(line, "https://hooks.example.com/")
			if forbidden.MatchString(line) && !isPolicy && !isExample {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// TestAppContrast computes the contrast of the colours that appear on each other: 4.5 for text, 3 for the
// borders of controls.
func TestAppContrast(t *testing.T) {
	css := appSources(t)["css/tokens.css"]
	light, dark, found := strings.Cut(css, `:root[data-theme="dark"]`)
	if !found {
		t.Fatal("there is no dark theme")
	}
	for theme, text := range map[string]string{"light": light, "dark": dark} {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): ?(#[0-9a-f]{6})`).FindAllStringSubmatch(text, -1) {
			colors[m[1]] = m[2]
		}
		for _, c := range []struct {
			front  string
			behind []string
			least  float64
		}{
			{"text", []string{"page", "surface", "sunken", "tint", "hover"}, 4.5},
			{"soft", []string{"page", "surface", "sunken", "tint", "hover"}, 4.5},
			{"accent", []string{"page", "surface", "tint", "hover"}, 4.5},
			{"on-accent", []string{"accent"}, 4.5},
			{"good", []string{"page", "surface", "good-tint"}, 4.5},
			{"warn", []string{"page", "surface", "warn-tint"}, 4.5},
			{"bad", []string{"page", "surface", "bad-tint"}, 4.5},
			{"surface", []string{"bad"}, 4.5},
			{"control", []string{"page", "surface"}, 3},
		} {
			for _, behind := range c.behind {
				t.Run(fmt.Sprintf("%s/%s on %s", theme, c.front, behind), func(t *testing.T) {
					if got := contrast(t, colors[c.front], colors[behind]); got < c.least {
						t.Errorf("contrast %.2f, want at least %.1f", got, c.least)
					}
				})
			}
		}
	}
}

// contrast returns the contrast of two colours as WCAG defines it.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, color string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		if len(color) != 7 {
			t.Fatalf("%q is not a colour", color)
		}
		n, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}
