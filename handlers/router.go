package handlers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"

	"prospector/internal/fault"
)

// mount puts the table into a router. httprouter takes no literal beside a parameter, such as campaigns/list beside
// campaigns/{id}: so every segment is folded to a parameter where any operation of the method has one there, and the
// few operations that then share a route are told apart by their literals.
func (a *API) mount() *httprouter.Router {
	router := httprouter.New()
	router.RedirectTrailingSlash, router.RedirectFixedPath = false, false
	router.HandleMethodNotAllowed, router.HandleOPTIONS = false, false
	router.NotFound = http.HandlerFunc(a.unrouted)

	routes := map[string][]*Operation{} // by method and folded path
	for i := range a.operations {
		o := &a.operations[i]
		key := o.Method + " " + a.fold(o)
		routes[key] = append(routes[key], o)
	}
	for key, ops := range routes {
		method, path, _ := strings.Cut(key, " ")
		slices.SortFunc(ops, byLiterals)
		router.Handle(method, path, func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
			for _, o := range ops {
				if params, ok := o.Match(r.URL.Path); ok {
					c := callOf(r)
					c.op, c.params = o, params
					if answer := c.serve(); answer.stream != nil {
						c.send(w, answer)
					} else {
						answer.write(w)
					}
					return
				}
			}
			a.unrouted(w, r)
		})
	}
	return router
}

func callOf(r *http.Request) *call { return r.Context().Value(contextKey{}).(*call) }

// byLiterals puts the operation with fewer parameters first: campaigns/list is no campaign called list.
func byLiterals(a, b *Operation) int { return len(a.params) - len(b.params) }

// fold writes the path for httprouter.
func (a *API) fold(o *Operation) string {
	segments := strings.Split(o.Path, "/")
	folded := make([]string, len(segments))
	for i, s := range segments {
		folded[i] = s
		for j := range a.operations {
			other := &a.operations[j]
			if other.Method != o.Method {
				continue
			}
			theirs := strings.Split(other.Path, "/")
			if len(theirs) > i && isParam(theirs[i]) && sameUpTo(segments, theirs, i) {
				folded[i] = ":p" + string(rune('0'+i))
			}
		}
	}
	return strings.Join(folded, "/")
}

func isParam(segment string) bool { return strings.HasPrefix(segment, "{") }

// sameUpTo tells whether a request could match both paths in their first n segments.
func sameUpTo(a, b []string, n int) bool {
	for i := range n {
		if a[i] != b[i] && !isParam(a[i]) && !isParam(b[i]) {
			return false
		}
	}
	return true
}

// Match holds a request's path against the operation's and gives its parameters.
func (o *Operation) Match(path string) (map[string]string, bool) {
	have, want := strings.Split(path, "/"), strings.Split(o.Path, "/")
	if len(have) != len(want) {
		return nil, false
	}
	params := map[string]string{}
	for i, s := range want {
		if isParam(s) && have[i] != "" {
			params[strings.Trim(s, "{}")] = have[i]
		} else if s != have[i] {
			return nil, false
		}
	}
	return params, true
}

// unrouted answers a path that the method does not have: 405 when another method does, else 404.
func (a *API) unrouted(w http.ResponseWriter, r *http.Request) {
	c := callOf(r)
	var allow []string
	for i := range a.operations {
		if _, ok := a.operations[i].Match(r.URL.Path); ok && !slices.Contains(allow, a.operations[i].Method) {
			allow = append(allow, a.operations[i].Method)
		}
	}
	if allow == nil {
		c.errorAnswer(fault.ErrNotFound).write(w)
		return
	}
	slices.Sort(allow)
	refusal := c.errorAnswer(methodNotAllowed(allow))
	if refusal.header == nil {
		refusal.header = http.Header{}
	}
	refusal.header.Set("Allow", strings.Join(allow, ", "))
	refusal.write(w)
}
