package console

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// modules are the static imports of each module.
type modules map[string][]string

// A static import may span lines. The regular expression does not match import(), which has no blank.
var staticImport = regexp.MustCompile(`(?m)^import [^'";]*'([^']+)';$`)

func readModules(files map[string][]byte) (modules, error) {
	m := modules{}
	for name, body := range files {
		if path.Ext(name) != ".js" {
			continue
		}
		m[name] = []string{}
		for _, found := range staticImport.FindAllSubmatch(body, -1) {
			imported := path.Join(path.Dir(name), string(found[1]))
			if files[imported] == nil {
				return nil, fmt.Errorf("%s imports %s, which does not exist", name, imported)
			}
			m[name] = append(m[name], imported)
		}
	}
	return m, nil
}

// closure returns a module and everything that it imports, near modules first.
func (m modules) closure(name string) []string {
	found := []string{name}
	for i := 0; i < len(found); i++ {
		for _, imported := range m[found[i]] {
			if !slices.Contains(found, imported) {
				found = append(found, imported)
			}
		}
	}
	return found
}

// route is the pattern of an address, such as /contacts/:id, with the module of its page.
type route struct {
	pattern []string
	module  string
}

// A route in routes.js: ['/contacts/:id', async () => (await import('./record.js')).…],
var routeEntry = regexp.MustCompile(`\['(/[^']*)',\s*async \(\) =>\s*\(await import\('([^']+)'\)\)`)

// readRoutes returns the routes of the console in the order of routes.js.
func readRoutes(m modules, body []byte) (routes []route, err error) {
	for _, found := range routeEntry.FindAllSubmatch(body, -1) {
		module := path.Join(path.Dir(routeModule), string(found[2]))
		if m[module] == nil {
			return nil, fmt.Errorf("the page at %s is in %s, which does not exist", found[1], module)
		}
		routes = append(routes, route{strings.Split(string(found[1]), "/"), module})
	}
	return routes, nil
}

// PageModule returns the module of the page that an address below /app shows, or nothing. It finds the same as router.js.
func (a *App) PageModule(address string) string {
	have := strings.Split("/"+strings.Trim(address, "/"), "/")
	for _, r := range a.routes {
		if r.matches(have) {
			return r.module
		}
	}
	return ""
}

func (r route) matches(have []string) bool {
	return slices.EqualFunc(r.pattern, have, func(want, part string) bool { return want == part || strings.HasPrefix(want, ":") })
}

// pageModules returns the modules of all pages.
func (a *App) pageModules() (names []string) {
	for _, r := range a.routes {
		if !slices.Contains(names, r.module) {
			names = append(names, r.module)
		}
	}
	return names
}
