package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io/fs"
	"maps"
	"mime"
	"path"
	"slices"
	"strings"
)

// The console is HTML, CSS and ES modules, which are served as they are written.
//
//go:embed web
var web embed.FS

// App is the console.
type App struct {
	files   map[string][]byte // by their path below web
	hash    string            // of all files
	modules modules
	routes  []route
}

// AppFile is a file of the console.
type AppFile struct {
	ContentType string
	Body        []byte
}

const (
	shellName   = "shell.html"
	mainModule  = "js/main.js"
	routeModule = "js/pages/routes.js"
)

// styles are the style sheets, in the order of their layers.
var styles = []string{"css/tokens.css", "css/base.css", "css/components.css", "css/pages.css"}

// NewApp reads the files of the console and how its modules import each other.
func NewApp() (*App, error) {
	a := &App{files: map[string][]byte{}}
	err := fs.WalkDir(web, "web", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := web.ReadFile(name)
		a.files[strings.TrimPrefix(name, "web/")] = body
		return err
	})
	if err != nil {
		return nil, err
	}
	a.hash = hashOf(a.files)
	if a.modules, err = readModules(a.files); err != nil {
		return nil, err
	}
	a.routes, err = readRoutes(a.modules, a.files[routeModule])
	return a, err
}

// Files returns the files by their path under /app/-/. The paths begin with a hash of all files, so that a browser may keep
// them forever.
func (a *App) Files() map[string]AppFile {
	files := map[string]AppFile{}
	for name, body := range a.files {
		if name != shellName {
			files[a.hash+"/"+name] = AppFile{mime.TypeByExtension(path.Ext(name)), body}
		}
	}
	return files
}

// Shells returns the pages that addresses under /app show, by the module that PageModule returns for an address. They
// differ only in the modules that the browser loads along with them.
func (a *App) Shells() (map[string]Page, error) {
	t, err := template.New(shellName).Parse(string(a.files[shellName]))
	if err != nil {
		return nil, err
	}
	shells := map[string]Page{}
	for _, module := range append(a.pageModules(), "") {
		var b bytes.Buffer
		err := t.Execute(&b, struct {
			Base             string
			Styles, Preloads []string
			Main             string
		}{"/app/-/" + a.hash, styles, a.preloads(module), mainModule})
		if err != nil {
			return nil, err
		}
		shells[module] = Page{HTML: b.Bytes(), Policy: appPolicy}
	}
	return shells, nil
}

// preloads returns the modules that a page needs besides the main module: they are the static imports of the main module
// and of the module of the page.
func (a *App) preloads(page string) []string {
	needed := a.modules.closure(mainModule)[1:]
	if page == "" {
		return needed
	}
	for _, name := range a.modules.closure(page) {
		if name != mainModule && !slices.Contains(needed, name) {
			needed = append(needed, name)
		}
	}
	return needed
}

func hashOf(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h.Write([]byte(name + "\x00"))
		h.Write(files[name])
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

// appPolicy allows nothing but the console's own files and requests to its own server.
const appPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types console"
