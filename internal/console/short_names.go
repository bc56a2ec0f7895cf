package console

import (
	"fmt"

	"github.com/tdewolff/parse/v2/js"
)

// rename gives all variables of a module their names in the scripts, and returns those that the module declares.
func (j *joiner) rename(ast *js.AST, imports map[string]string) (map[string]string, error) {
	declared := map[string]string{}
	for _, v := range ast.Declared {
		name := string(v.Data)
		declared[name] = nextName(&j.count, nil)
		v.Data = []byte(declared[name])
	}
	for _, v := range ast.Undeclared {
		if short := imports[string(v.Data)]; short != "" {
			v.Data = []byte(short)
		} else if len(v.Data) < 3 { // it could be the short name of another variable
			return nil, fmt.Errorf("%s is not declared", v.Data)
		}
	}
	for _, statement := range ast.List {
		js.Walk(localNames{}, statement)
	}
	return declared, nil
}

// localNames gives the variables inside of a statement short names that differ from all that are used beside them. Names
// follow the order of declarations, because that compresses better than an order by use.
type localNames struct{}

func (n localNames) Enter(node js.INode) js.IVisitor {
	switch node := node.(type) {
	case *js.BlockStmt:
		n.rename(&node.Scope)
	case *js.SwitchStmt:
		n.rename(&node.Scope)
	case *js.ClassDecl: // its scope has the private members
		count := 0
		for _, v := range node.Declared {
			v.Data = []byte("#" + nextName(&count, nil))
		}
	case *js.Var:
		node.Data = node.Name() // which decides whether {name} becomes {name: e}
	}
	return n
}

func (localNames) Exit(js.INode) {}

func (localNames) rename(scope *js.Scope) {
	taken := map[string]bool{}
	for _, v := range scope.Undeclared {
		taken[string(v.Name())] = true
	}
	count := 0
	for _, v := range scope.Declared {
		v.Data = []byte(nextName(&count, taken))
	}
}

// nextName returns the next short name that is not taken.
func nextName(count *int, taken map[string]bool) string {
	const letters = "etnsoiarclduhmfpgvbjywxkzqOCEASMFTDNLRPHIBVWUKYGXQZJ_$" // frequent ones first
	for {
		i := *count
		*count++
		name := letters[i%len(letters):][:1]
		if i >= len(letters) {
			name += letters[i/len(letters)-1:][:1]
		}
		if _, isKeyword := js.Keywords[name]; !isKeyword && !taken[name] {
			return name
		}
	}
}
