// Package fault is the one error type for what a caller did wrong or what the service cannot do for them right now.
// It knows codes and words; which HTTP status a code becomes is decided in handlers alone.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code is the machine-readable name of an error, as answered in error.code.
type Code string

const (
	InvalidJSON           Code = "invalid_json"
	Unauthorized          Code = "unauthorized"
	Forbidden             Code = "forbidden"
	NotFound              Code = "not_found"
	MethodNotAllowed      Code = "method_not_allowed"
	TagNameTaken          Code = "tag_name_taken"
	FieldKeyTaken         Code = "field_key_taken"
	ViewNameTaken         Code = "view_name_taken"
	ExternalIDTaken       Code = "external_id_taken"
	InUse                 Code = "in_use"
	RequestIDReused       Code = "request_id_reused"
	PreviewNotReady       Code = "preview_not_ready"
	PreviewNotPreparing   Code = "preview_not_preparing"
	ImportAccepted        Code = "import_accepted"
	NothingToImport       Code = "nothing_to_import"
	AudienceNameTaken     Code = "audience_name_taken"
	AudienceArchived      Code = "audience_archived"
	CampaignNotEnrollable Code = "campaign_not_enrollable"
	LastAudience          Code = "last_audience"
	InvalidTransition     Code = "invalid_transition"
	SubscriptionNotActive Code = "subscription_not_active"
	ImportLimitExceeded   Code = "import_limit_exceeded"
	IdempotencyKeyReused  Code = "idempotency_key_reused"
	PreconditionFailed    Code = "precondition_failed"
	BodyTooLarge          Code = "body_too_large"
	UnsupportedMediaType  Code = "unsupported_media_type"
	ValidationFailed      Code = "validation_failed"
	InvalidFilter         Code = "invalid_filter"
	InvalidSort           Code = "invalid_sort"
	RateLimited           Code = "rate_limited"
	Internal              Code = "internal"
	Unavailable           Code = "unavailable"
)

// Error is a refusal with its code. Details name each problem by its path in the request.
type Error struct {
	Code    Code
	Message string
	Details []Detail
}

// Detail is one problem of a request. ID names the record that a name or a reference collides with.
type Detail struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	ID      string `json:"id,omitempty"`
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// New makes an error without details.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ErrNotFound is the one answer for what does not exist and for what belongs to somebody else.
var ErrNotFound = New(NotFound, "Resource not found")

// Taken is a conflict over path with the record id.
func Taken(code Code, path, id, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{Code: code, Message: path + ": " + message, Details: []Detail{{Path: path, Message: message, ID: id}}}
}

// CodeOf tells the code of err, Internal for an error that is no fault.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// maxDetails bounds what an answer lists, so that a hostile body cannot make it larger than itself.
const maxDetails = 1000

// maxPath is how many bytes of a path are answered: those of a filter of 200 levels, and more.
const maxPath = 4000

// Problems collects all that is wrong with one request, so that it is reported at once.
type Problems struct {
	code  Code
	list  []Detail
	count int
}

// Add notes one problem under code. The first code added is the code of the whole error.
func (p *Problems) Add(code Code, path, format string, args ...any) {
	if p.code == "" {
		p.code = code
	}
	if p.count++; p.count > maxDetails {
		return
	}
	if len(path) > maxPath { // somebody's key, which need not be answered as a whole
		path = strings.ToValidUTF8(path[:maxPath], "") + "…"
	}
	p.list = append(p.list, Detail{Path: path, Message: fmt.Sprintf(format, args...)})
}

// Invalid notes one problem of the body as validation_failed.
func (p *Problems) Invalid(path, format string, args ...any) {
	p.Add(ValidationFailed, path, format, args...)
}

// Has tells whether a problem at path, or within what stands there, was noted, so that a later rule need not complain
// about the same field again.
func (p *Problems) Has(path string) bool {
	return slices.ContainsFunc(p.list, func(d Detail) bool {
		rest, under := strings.CutPrefix(d.Path, path)
		return under && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// At tells whether a problem of exactly what stands at path was noted.
func (p *Problems) At(path string) bool {
	return slices.ContainsFunc(p.list, func(d Detail) bool { return d.Path == path })
}

// Details are the problems that were noted.
func (p *Problems) Details() []Detail { return p.list }

// Count is how many problems were noted.
func (p *Problems) Count() int { return p.count }

// Err is nil when nothing was noted, else the error whose message names the first problem and whose details list all.
func (p *Problems) Err() error {
	if len(p.list) == 0 {
		return nil
	}
	first, details := p.list[0], p.list
	if more := p.count - len(details); more > 0 {
		details = append(details, Detail{Path: first.Path, Message: fmt.Sprintf("first of %d problems; %d are not listed", p.count, more)})
	}
	return &Error{Code: p.code, Message: first.Path + ": " + first.Message, Details: details}
}
