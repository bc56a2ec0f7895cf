package handlers

import (
	"net/http"
	"strings"

	"prospector/internal/console"
	"prospector/internal/fault"
)

// appPath is where the console is.
const appPath = "/app/"

// app is the console: its files by their paths, and the page that shows them.
type app struct {
	shell *asset
	files map[string]*asset
}

func newApp() (*app, error) {
	files, shell, err := console.App()
	if err != nil {
		return nil, err
	}
	a := &app{shell: newPage(shell), files: map[string]*asset{}}
	for name, file := range files {
		served := newAsset(file.ContentType, file.Body)
		served.offerBrotli()
		a.files[appPath+"-/"+name] = served
	}
	return a, nil
}

// serveApp serves the console, to which / redirects. Its addresses are not operations of the API: all of them show the same
// page, which decides by itself what to show.
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
		r := a.shell.serve(c)
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
