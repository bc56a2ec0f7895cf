package console

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The modules are served as two scripts, because small files compress badly.
const (
	mainScript  = "main.js"  // what the first page needs
	pagesScript = "pages.js" // the other pages
)

// firstModules are the modules that the first page imports, beside those that they import themselves.
var firstModules = []string{"main.js", "pages/home.js", "foot.js"}

// modules are the sources of modules by their path.
type modules map[string]string

// The forms that modules use. join refuses others.
var (
	importStatement = regexp.MustCompile(`(?m)^import \{([^}]*)\} from '([^']+)';$`)
	importCall      = regexp.MustCompile(`\bimport\('([^']+)'\)`)
	exportStatement = regexp.MustCompile(`(?m)^export ((?:async function|function|class|const) (\w+))`)
	exportDefault   = regexp.MustCompile(`(?m)^export default (\w+);$`)
	otherStatement  = regexp.MustCompile(`(?m)^(?:import|export) .*`)
)

// join makes two scripts of the modules. A module becomes a function that runs it once and returns what it exports, so
// that it runs when it is imported, as it would by itself, and the minifier can shorten its names.
func (m modules) join() (map[string][]byte, error) {
	first := map[string]bool{}
	for _, name := range firstModules {
		m.follow(name, first)
	}
	bodies := map[bool]*strings.Builder{true: {}, false: {}}
	names := map[bool][]string{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		text, err := m.function(name, first)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		isFirst := first[name]
		bodies[isFirst].WriteString(text)
		names[isFirst] = append(names[isFirst], functionName(name))
	}
	shared := strings.Join(append(names[true], "once"), ", ")
	return map[string][]byte{
		mainScript: []byte("const once = (make) => { let made; return () => (made ??= make()); };\n" +
			bodies[true].String() + "export { " + shared + " };\n" + functionName("main.js") + "();\n"),
		pagesScript: []byte("import { " + shared + " } from './" + mainScript + "';\n" +
			bodies[false].String() + "export { " + strings.Join(names[false], ", ") + " };\n"),
	}, nil
}

// follow adds a module and those that it imports to the set.
func (m modules) follow(name string, to map[string]bool) {
	if to[name] {
		return
	}
	to[name] = true
	for _, found := range importStatement.FindAllStringSubmatch(m[name], -1) {
		m.follow(path.Join(path.Dir(name), found[2]), to)
	}
}

// function returns the function that a module becomes.
func (m modules) function(name string, first map[string]bool) (text string, err error) {
	target := func(from string) string {
		to := path.Join(path.Dir(name), from)
		if m[to] == "" {
			err = fmt.Errorf("there is no module %s", to)
		}
		return to
	}
	text = importStatement.ReplaceAllStringFunc(m[name], func(statement string) string {
		parts := importStatement.FindStringSubmatch(statement)
		return "const {" + strings.ReplaceAll(parts[1], " as ", ": ") + "} = " + functionName(target(parts[2])) + "();"
	})
	text = importCall.ReplaceAllStringFunc(text, func(call string) string {
		to := target(importCall.FindStringSubmatch(call)[1])
		if first[name] && !first[to] {
			return "import('./" + pagesScript + "').then((pages) => pages." + functionName(to) + "())"
		}
		return "Promise.resolve().then(" + functionName(to) + ")"
	})
	var exports []string
	for _, found := range exportStatement.FindAllStringSubmatch(text, -1) {
		exports = append(exports, found[2])
	}
	for _, found := range exportDefault.FindAllStringSubmatch(text, -1) {
		exports = append(exports, "default: "+found[1])
	}
	text = exportDefault.ReplaceAllString(exportStatement.ReplaceAllString(text, "$1"), "")
	if other := otherStatement.FindString(text); other != "" && err == nil {
		err = fmt.Errorf("cannot join: %s", other)
	}
	return "const " + functionName(name) + " = once(() => {\n" + text + "\nreturn { " + strings.Join(exports, ", ") + " };\n});\n", err
}

// functionName returns the name of the function that a module becomes. Nothing else in the modules begins with a $.
func functionName(module string) string {
	return "$" + strings.NewReplacer("/", "_", ".js", "").Replace(module)
}
