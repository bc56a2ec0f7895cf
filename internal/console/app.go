package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io/fs"
	"mime"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The console is HTML, CSS and ES modules. There is no build step: only comments and indentation are left
// out of what is served.
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
		bodies[strings.TrimPrefix(name, "web/")] = slim(name, body)
		return err
	})
	if err != nil {
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

// What slim leaves out of scripts. The type annotations are comments.
var (
	docComment  = regexp.MustCompile(`(?s)/\*\*.*?\*/ ?`)
	lineComment = regexp.MustCompile(`(?m)^[ \t]*//.*$`)
	indentation = regexp.MustCompile(`(?m)^[ \t]+`)
	aroundSigns = regexp.MustCompile(`\s*([{};])\s*`) // in style sheets, whose strings contain none of these
	afterSigns  = regexp.MustCompile(`([:,]) `)
	emptyLines  = regexp.MustCompile(`\n{2,}`)
)

// slim returns a script or a style sheet without comments and indentation.
func slim(name string, body []byte) []byte {
	switch path.Ext(name) {
	case ".js":
		body = docComment.ReplaceAll(body, nil)
		body = lineComment.ReplaceAll(body, nil)
	case ".css":
		body = afterSigns.ReplaceAll(aroundSigns.ReplaceAll(body, []byte("$1")), []byte("$1"))
		body = bytes.ReplaceAll(body, []byte(";}"), []byte("}"))
	default:
		return body
	}
	return emptyLines.ReplaceAll(indentation.ReplaceAll(body, nil), []byte("\n"))
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

// startup are the modules that the first page needs. Without them the browser would find each only after
// it has read the module that imports it.
var startup = []string{
	"api.js", "dom.js", "format.js", "keys.js", "router.js", "state.js", "text.js",
	"components/chart.js", "components/dialog.js", "components/field.js", "components/parts.js", "components/toast.js", "pages/home.js",
}

func renderShell(text, base string) (Page, error) {
	t, err := template.New(shellName).Parse(text)
	if err != nil {
		return Page{}, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Base    string
		Preload []string
	}{base, startup})
	return Page{HTML: b.Bytes(), Policy: appPolicy}, err
}

// appPolicy allows nothing but the console's own files and requests to its own server.
const appPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types console"
