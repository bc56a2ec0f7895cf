package console

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// The modules are served as two scripts, because small files compress badly.
const (
	mainScript  = "main.js"  // what the first page needs
	pagesScript = "pages.js" // the other pages
)

// pageOrder is the module that imports the pages. They are joined in the order of its imports, which has those beside each
// other that resemble each other, because that compresses better: by half a percent.
const pageOrder = "pages/routes.js"

// modules are the sources of modules by their path.
type modules map[string]string

// The forms that modules use. join refuses others. The import of a type in a comment follows a brace.
var (
	importStatement = regexp.MustCompile(`(?m)^import \{([^}]*)\} from '([^']+)';$`)
	importCall      = regexp.MustCompile(`([^{]import)\('([^']+)'\)`)
	exportStatement = regexp.MustCompile(`(?m)^export ((?:async function|function|class|const) (\w+))`)
	otherStatement  = regexp.MustCompile(`(?m)^(?:import|export) .*`)
)

// joiner joins modules. A script contains the statements of its modules one after another, a module after those that it
// imports. It runs them when it is loaded, so modules other than main.js should only declare something. The variables
// of all modules have different short names, which hold in both scripts. import() becomes an import of the script
// that contains the module.
type joiner struct {
	modules
	order   []string
	isFirst map[string]bool              // the modules of the main script
	exports map[string]map[string]string // by module and name, the name in the scripts
	shared  map[string]bool              // what the pages use of the main script, by its name in the scripts
	called  map[string]bool              // the modules that import() loads
	count   int                          // how many names the variables of modules have used up
}

// join returns the two scripts. Their variables already have short names, which the minifier must keep.
func (m modules) join() (map[string][]byte, error) {
	j := &joiner{modules: m, isFirst: map[string]bool{}, exports: map[string]map[string]string{}, shared: map[string]bool{}, called: map[string]bool{}}
	j.follow("main.js")
	for _, name := range j.order {
		j.isFirst[name] = true
	}
	names := slices.Sorted(maps.Keys(m))
	page := slices.IndexFunc(names, func(name string) bool { return path.Dir(name) == "pages" })
	for _, name := range slices.Insert(names, max(page, 0), pageOrder) {
		j.follow(name)
	}
	scripts := map[string][]byte{mainScript: nil, pagesScript: nil}
	for _, name := range j.order {
		statements, err := j.statements(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		scripts[j.scriptOf(name)] = append(scripts[j.scriptOf(name)], statements...)
	}
	shared := slices.Sorted(maps.Keys(j.shared))
	scripts[pagesScript] = slices.Concat([]byte("import { "+strings.Join(shared, ", ")+" } from './"+mainScript+"';\n"), scripts[pagesScript])
	exports := map[string][]string{mainScript: shared}
	owner := map[string]string{} // the modules by what they export
	for _, name := range slices.Sorted(maps.Keys(j.called)) {
		for _, exported := range slices.Sorted(maps.Keys(j.exports[name])) {
			if other := owner[exported]; other != "" {
				return nil, fmt.Errorf("%s: cannot export %s, because %s does", name, exported, other)
			}
			owner[exported] = name
			exports[j.scriptOf(name)] = append(exports[j.scriptOf(name)], j.exports[name][exported]+" as "+exported)
		}
	}
	for script, names := range exports {
		scripts[script] = append(scripts[script], "export { "+strings.Join(names, ", ")+" };\n"...)
	}
	return scripts, nil
}

// follow adds a module to the order, after those that it imports.
func (j *joiner) follow(name string) {
	if j.exports[name] != nil || j.modules[name] == "" {
		return
	}
	j.exports[name] = map[string]string{}
	for _, found := range importStatement.FindAllStringSubmatch(j.modules[name], -1) {
		j.follow(path.Join(path.Dir(name), found[2]))
	}
	j.order = append(j.order, name)
}

func (j *joiner) scriptOf(module string) string {
	if j.isFirst[module] {
		return mainScript
	}
	return pagesScript
}

// statements returns the statements of a module as they are in its script.
func (j *joiner) statements(name string) ([]byte, error) {
	text := j.modules[name]
	imports := map[string]string{} // what the module imports, by the names in the scripts
	for _, found := range importStatement.FindAllStringSubmatch(text, -1) {
		from := path.Join(path.Dir(name), found[2])
		for imported := range strings.SplitSeq(strings.TrimRight(found[1], ",\n "), ",") {
			exported, as, isRenamed := strings.Cut(strings.TrimSpace(imported), " as ")
			if !isRenamed {
				as = exported
			}
			short := j.exports[from][exported]
			if short == "" {
				return nil, fmt.Errorf("%s does not export %s", from, exported)
			}
			imports[as] = short
			if j.isFirst[from] && !j.isFirst[name] {
				j.shared[short] = true
			}
		}
	}
	for _, found := range importCall.FindAllStringSubmatch(text, -1) {
		to := path.Join(path.Dir(name), found[2])
		if j.exports[to] == nil {
			return nil, fmt.Errorf("there is no module %s", to)
		}
		j.called[to] = true
		text = strings.ReplaceAll(text, found[0], found[1]+"('./"+j.scriptOf(to)+"')")
	}
	exported := exportStatement.FindAllStringSubmatch(text, -1)
	text = exportStatement.ReplaceAllString(importStatement.ReplaceAllString(text, ""), "$1")
	if other := otherStatement.FindString(text); other != "" {
		return nil, fmt.Errorf("cannot join: %s", other)
	}
	ast, err := js.Parse(parse.NewInputString(text), js.Options{})
	if err != nil {
		return nil, err
	}
	declared, err := j.rename(ast, imports)
	if err != nil {
		return nil, err
	}
	for _, found := range exported {
		j.exports[name][found[2]] = declared[found[2]]
	}
	return []byte(ast.JSString() + "\n"), nil
}
