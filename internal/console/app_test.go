package console

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// appFiles returns the scripts and style sheets as they are served, by their paths without the hash.
func appFiles(t *testing.T) map[string][]byte {
	t.Helper()
	served, _, err := App()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for name, file := range served {
		_, name, _ = strings.Cut(name, "/")
		if ext := path.Ext(name); ext == ".js" || ext == ".css" {
			files[name] = file.Body
		}
	}
	return files
}

func gzipped(t *testing.T, parts ...[]byte) int {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if _, err := z.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// TestAppSize limits what a browser loads: all files together, and those of the first page, file by file as
// they are transferred.
func TestAppSize(t *testing.T) {
	files := appFiles(t)
	var all [][]byte
	raw, first, firstGzipped, requests, transferred := 0, 0, 0, 0, 0
	for name, body := range files {
		all = append(all, body)
		raw += len(body)
		transferred += gzipped(t, body)
		if strings.HasSuffix(name, ".css") || name == "js/main.js" || slices.Contains(startup, strings.TrimPrefix(name, "js/")) {
			first += len(body)
			firstGzipped += gzipped(t, body)
			requests++
		}
	}
	slices.SortFunc(all, bytes.Compare)
	together := gzipped(t, all...)
	t.Logf("all %d files: %d bytes, %d gzipped together, %d file by file; first page: %d files, %d bytes, %d gzipped",
		len(files), raw, together, transferred, requests, first, firstGzipped)
	const kB = 1024
	for _, c := range []struct {
		what      string
		is, limit int
	}{
		{"all files", raw, 200 * kB}, {"all files, gzipped together", together, 60 * kB},
		{"first page", first, 90 * kB}, {"first page, gzipped", firstGzipped, 28 * kB}, {"requests of the first page", requests, 20},
	} {
		if c.is > c.limit {
			t.Errorf("%s: %d, want at most %d", c.what, c.is, c.limit)
		}
	}
}

// TestAppStartup requires that the shell preloads just what the first page imports.
func TestAppStartup(t *testing.T) {
	files := appFiles(t)
	imported := map[string]bool{}
	statement := regexp.MustCompile(`(?m)^(?:import|export) [^;]*?from '(\.[^']+)';`)
	var follow func(name string)
	follow = func(name string) {
		if imported[name] {
			return
		}
		imported[name] = true
		if files["js/"+name] == nil {
			t.Errorf("%s does not exist", name)
		}
		for _, m := range statement.FindAllStringSubmatch(string(files["js/"+name]), -1) {
			follow(path.Join(path.Dir(name), m[1]))
		}
	}
	follow("main.js")
	follow("pages/home.js")
	delete(imported, "main.js")
	for name := range imported {
		if !slices.Contains(startup, name) {
			t.Errorf("the first page imports %s, which is not preloaded", name)
		}
	}
	for _, name := range startup {
		if !imported[name] {
			t.Errorf("%s is preloaded but the first page does not import it", name)
		}
	}
}

// TestAppCode refuses code that turns text into markup or code, or that leaves the server. The browser would
// refuse most of it too, but only when it runs.
func TestAppCode(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:|https?://[a-z]`)
	for name, body := range appFiles(t) {
		for line := range strings.Lines(string(body)) {
			isPolicy := name == "js/dom.js" && (strings.HasPrefix(line, "template.innerHTML = ") || strings.HasPrefix(line, "const forbidden = "))
			isExample := strings.Contains(line, "https://hooks.example.com/")
			if forbidden.MatchString(line) && !isPolicy && !isExample {
				t.Errorf("%s: %s", name, line)
			}
		}
		if strings.Contains(string(body), "/**") {
			t.Errorf("%s is served with its comments", name)
		}
	}
}

// TestAppContrast computes the contrast of the colours that appear on each other: 4.5 for text, 3 for the
// borders of controls.
func TestAppContrast(t *testing.T) {
	css := string(appFiles(t)["css/tokens.css"])
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
