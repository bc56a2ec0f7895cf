package handlers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"

	"prospector/internal/fault"
)

// mount builds a router from the table of operations. httprouter does not support a literal next to a
// parameter, such as campaigns/list and campaigns/{id}. Therefore a segment becomes a parameter wherever
// any operation of the same method has a parameter there. The handler of a route that several operations
// share then selects the one whose path matches.
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
					c.op, c.params, c.writer = o, params, w
					if response := c.serve(); response.stream != nil {
						c.send(w, response)
					} else {
						c.compress(response).write(w)
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

// byLiterals sorts operations with fewer parameters first, so that campaigns/list matches before
// campaigns/{id}.
func byLiterals(a, b *Operation) int { return len(a.params) - len(b.params) }

// fold returns the path of the operation for httprouter.
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

// sameUpTo reports whether a request could match both paths in their first n segments.
func sameUpTo(a, b []string, n int) bool {
	for i := range n {
		if a[i] != b[i] && !isParam(a[i]) && !isParam(b[i]) {
			return false
		}
	}
	return true
}

// Match reports whether a request path matches the path of the operation, and returns its parameters.
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

// unrouted responds to a path without an operation for the method: 405 if another method has one, otherwise 404.
func (a *API) unrouted(w http.ResponseWriter, r *http.Request) {
	c := callOf(r)
	var allow []string
	for i := range a.operations {
		if _, ok := a.operations[i].Match(r.URL.Path); ok && !slices.Contains(allow, a.operations[i].Method) {
			allow = append(allow, a.operations[i].Method)
		}
	}
	if allow == nil {
		c.errorResponse(fault.ErrNotFound).write(w)
		return
	}
	slices.Sort(allow)
	refusal := c.errorResponse(methodNotAllowed(allow))
	if refusal.header == nil {
		refusal.header = http.Header{}
	}
	refusal.header.Set("Allow", strings.Join(allow, ", "))
	refusal.write(w)
}
