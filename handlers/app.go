package handlers

import (
	"net/http"
	"strings"

	"prospector/internal/console"
	"prospector/internal/fault"
)

// appPath is where the console is.
const appPath = "/app/"

// app is the console: its files by their paths, and the pages that show them by the module that they load.
type app struct {
	*console.App
	shells map[string]*asset
	files  map[string]*asset
}

func newApp() (*app, error) {
	read, err := console.NewApp()
	if err != nil {
		return nil, err
	}
	shells, err := read.Shells()
	if err != nil {
		return nil, err
	}
	a := &app{App: read, shells: map[string]*asset{}, files: map[string]*asset{}}
	for module, shell := range shells {
		a.shells[module] = newPage(shell)
	}
	for name, file := range read.Files() {
		served := newAsset(file.ContentType, file.Body)
		served.offerBrotli()
		a.files[appPath+"-/"+name] = served
	}
	return a, nil
}

// shell returns the page of an address.
func (a *app) shell(path string) *asset {
	return a.shells[a.PageModule(strings.TrimPrefix(path, strings.TrimSuffix(appPath, "/")))]
}

// serveApp serves the console, to which / redirects. Its addresses are not operations of the API: all of them show the same
// page, which decides by itself what to show, and differs only in what the browser loads along with it.
func (c *call) serveApp(w http.ResponseWriter) {
	a, err := c.api.app()
	switch {
	case c.request.URL.Path == "/" && err == nil:
		response{status: http.StatusFound, header: http.Header{"Location": {appPath}}}.write(w)
	case err != nil:
		c.errorResponse(err).write(w)
	case c.request.Method != http.MethodGet && c.request.Method != http.MethodHead:
		c.errorResponse(methodNotAllowed([]string{http.MethodGet})).write(w)
	case !strings.HasPrefix(c.request.URL.Path, appPath+"-/"):
		r := a.shell(c.request.URL.Path).serve(c)
		r.header.Set("Referrer-Policy", "no-referrer")
		r.header.Set("Cross-Origin-Opener-Policy", "same-origin")
		r.write(w)
	case a.files[c.request.URL.Path] == nil:
		c.errorResponse(fault.ErrNotFound).write(w)
	default:
		r := a.files[c.request.URL.Path].serve(c)
		r.header.Set("Cache-Control", "public, max-age=31536000, immutable")
		r.write(w)
	}
}

func isAppPath(path string) bool {
	return path == "/" || path == strings.TrimSuffix(appPath, "/") || strings.HasPrefix(path, appPath)
}
