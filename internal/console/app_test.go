package console

import (
	"fmt"
	"io/fs"
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

func newApp(t *testing.T) *App {
	t.Helper()
	app, err := NewApp()
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// TestApp requires that the scripts and style sheets are served as they are written, under one hash, and that each page
// links the style sheets in the order of their layers.
func TestApp(t *testing.T) {
	app := newApp(t)
	files := app.Files()
	for name, source := range appSources(t) {
		if got := string(files[app.hash+"/"+name].Body); got != source {
			t.Errorf("%s is served as %.100q", name, got)
		}
	}
	shells, err := app.Shells()
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`<link rel="stylesheet" href="/app/-/` + app.hash + `/css/(\w+)\.css">`)
	for module, shell := range shells {
		layers := ""
		for _, found := range link.FindAllSubmatch(shell.HTML, -1) {
			layers += ", " + string(found[1])
		}
		if want := "@layer " + strings.TrimPrefix(layers, ", ") + ";"; !strings.HasPrefix(appSources(t)["css/tokens.css"], want) {
			t.Errorf("the page of %q links style sheets in the order %s", module, want)
		}
	}
}

// TestPreloads requires that each page loads everything that its module imports, and nothing twice.
func TestPreloads(t *testing.T) {
	app := newApp(t)
	shells, err := app.Shells()
	if err != nil {
		t.Fatal(err)
	}
	preload := regexp.MustCompile(`<link rel="modulepreload" href="/app/-/` + app.hash + `/([^"]+)">`)
	importLine := regexp.MustCompile(`(?m)^import [^(]|^export [{*]`)
	for module, shell := range shells {
		loaded := map[string]bool{mainModule: true}
		for _, found := range preload.FindAllSubmatch(shell.HTML, -1) {
			if name := string(found[1]); loaded[name] {
				t.Errorf("the page of %q loads %s twice", module, name)
			} else {
				loaded[name] = true
			}
		}
		if module != "" && !loaded[module] {
			t.Errorf("the page of %s does not load it", module)
		}
		for name := range loaded {
			source := appSources(t)[name]
			if found := importLine.FindAllString(source, -1); len(found) != len(app.modules[name]) {
				t.Errorf("%s has %d imports, but %d were read", name, len(found), len(app.modules[name]))
			}
			for _, imported := range app.modules[name] {
				if !loaded[imported] {
					t.Errorf("the page of %q does not load %s, which %s imports", module, imported, name)
				}
			}
		}
	}
}

// TestPageModule requires that the server finds the module of an address as router.js does.
func TestPageModule(t *testing.T) {
	app := newApp(t)
	if written := strings.Count(appSources(t)[routeModule], "import("); len(app.routes) != written || written < 30 {
		t.Errorf("%d of %d routes were read", len(app.routes), written)
	}
	for address, want := range map[string]string{
		"": "home", "/": "home", "/contacts": "list", "/contacts/": "list", "/contacts/1": "record", "/contacts/duplicates": "clean",
		"/catalog/people": "list", "/settings": "settings", "/settings/users": "settings", "/settings/trash": "clean",
		"/settings/webhooks/1": "settings", "/imports/new": "imports", "/previews/1": "market",
		"/nothing": "", "/contacts/1/2": "", "/contacts//": "list",
	} {
		if want != "" {
			want = "js/pages/" + want + ".js"
		}
		if got := app.PageModule(address); got != want {
			t.Errorf("the module of %q is %q, want %q", address, got, want)
		}
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
