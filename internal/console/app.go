package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"mime"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
)

// The console is HTML, CSS and ES modules. There is no build step: the scripts and style sheets are joined and minified
// when the console is first opened.
//
//go:embed web
var web embed.FS

// AppFile is a file of the console.
type AppFile struct {
	ContentType string
	Body        []byte
}

// App returns the files of the console by their path under /app/-/. The paths begin with a hash of all
// files, so that a browser may keep them forever. shell is the page that every address of the console
// shows.
func App() (files map[string]AppFile, shell Page, err error) {
	bodies := map[string][]byte{}
	err = fs.WalkDir(web, "web", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := web.ReadFile(name)
		bodies[strings.TrimPrefix(name, "web/")] = body
		return err
	})
	if err != nil {
		return nil, shell, err
	}
	if err := prepare(bodies); err != nil {
		return nil, shell, err
	}
	hash := hashOf(bodies)
	files = map[string]AppFile{}
	for name, body := range bodies {
		if name != shellName {
			files[hash+"/"+name] = AppFile{mime.TypeByExtension(path.Ext(name)), body}
		}
	}
	shell, err = renderShell(string(bodies[shellName]), "/app/-/"+hash)
	return files, shell, err
}

// styles are the style sheets, in the order of their layers. They are served as one.
var styles = []string{"css/tokens.css", "css/base.css", "css/components.css", "css/pages.css"}

// prepare joins and minifies the style sheets and the scripts. The templates of scripts keep their text.
func prepare(bodies map[string][]byte) (err error) {
	var style []byte
	for _, name := range styles {
		style = append(style, bodies[name]...)
		delete(bodies, name)
	}
	bodies["console.css"] = style
	sources := modules{}
	for name, body := range bodies {
		if module, is := strings.CutPrefix(name, "js/"); is {
			sources[module] = compact(string(body))
			delete(bodies, name)
		}
	}
	scripts, err := sources.join()
	if err != nil {
		return err
	}
	maps.Copy(bodies, scripts)
	m := minify.New()
	m.Add(".css", &css.Minifier{})
	m.Add(".js", &js.Minifier{KeepVarNames: true}) // join has shortened them
	for name, body := range bodies {
		if ext := path.Ext(name); ext == ".css" || ext == ".js" {
			if bodies[name], err = m.Bytes(ext, body); err != nil {
				return fmt.Errorf("minify %s: %w", name, err)
			}
		}
	}
	return nil
}

var (
	indentation = regexp.MustCompile(`\n +`)
	gap         = regexp.MustCompile(`([>}])\n([<$])`) // between the elements and the holes of a template
	plainText   = regexp.MustCompile(`\bt\(('[^'{\\]*')\)`)
)

// compact shortens a script where the minifier keeps everything, which is in templates. Indentation means nothing there,
// and neither do line breaks between elements, because these are blocks or flexible boxes. It also removes the
// calls of t for texts without placeholders, because English is the only language.
func compact(script string) string {
	script = gap.ReplaceAllString(indentation.ReplaceAllString(script, "\n"), "$1$2")
	return plainText.ReplaceAllString(script, "$1")
}

const shellName = "shell.html"

func hashOf(bodies map[string][]byte) string {
	h := sha256.New()
	names := make([]string, 0, len(bodies))
	for name := range bodies {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		h.Write([]byte(name + "\x00"))
		h.Write(bodies[name])
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

func renderShell(text, base string) (Page, error) {
	t, err := template.New(shellName).Parse(text)
	if err != nil {
		return Page{}, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, base)
	return Page{HTML: b.Bytes(), Policy: appPolicy}, err
}

// appPolicy allows nothing but the console's own files and requests to its own server.
const appPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types console"
