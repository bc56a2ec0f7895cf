package handlers

import (
	"net/http"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/record"
)

// ifMatch returns the precondition of a request, or nil if it has no If-Match header.
func ifMatch(r *http.Request) record.Precondition {
	values := r.Header.Values("If-Match")
	if len(values) == 0 {
		return nil
	}
	return func(version string) error {
		for _, tag := range strings.Split(strings.Join(values, ","), ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || tag == etag(version) {
				return nil
			}
		}
		return fault.New(fault.PreconditionFailed, "If-Match does not match; the record has version %s", etag(version))
	}
}
