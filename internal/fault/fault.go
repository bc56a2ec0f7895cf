// Package fault is the error type for requests that the service refuses or cannot serve right now.
// It owns the error codes and the way in which problems of a request are collected. It knows no
// HTTP: the handlers package maps codes to statuses.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Code is the machine-readable name of an error. The API returns it as error.code.
type Code string

const (
	InvalidJSON           Code = "invalid_json"
	InvalidForm           Code = "invalid_form"
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
	ImportNotRunning      Code = "import_not_running"
	TooManyImports        Code = "too_many_imports"
	AudienceNameTaken     Code = "audience_name_taken"
	AudienceArchived      Code = "audience_archived"
	CampaignNotEnrollable Code = "campaign_not_enrollable"
	AudienceDynamic       Code = "audience_dynamic"
	CountChanged          Code = "count_changed"
	NotUndoable           Code = "not_undoable"
	OperationRunning      Code = "operation_running"
	AlreadyUndone         Code = "already_undone"
	UndoConflict          Code = "undo_conflict"
	CampaignHeld          Code = "campaign_held"
	CampaignNotHeld       Code = "campaign_not_held"
	Suppressed            Code = "suppressed"
	Erased                Code = "erased"
	CapReached            Code = "cap_reached"
	LastAudience          Code = "last_audience"
	InvalidTransition     Code = "invalid_transition"
	SubscriptionNotActive Code = "subscription_not_active"
	TooManySubscriptions  Code = "too_many_subscriptions"
	ImportLimitExceeded   Code = "import_limit_exceeded"
	SeveralOrganizations  Code = "several_organizations"
	LastAdmin             Code = "last_admin"
	UserInactive          Code = "user_inactive"
	IdempotencyKeyReused  Code = "idempotency_key_reused"
	PreconditionFailed    Code = "precondition_failed"
	BodyTooLarge          Code = "body_too_large"
	UnsupportedMediaType  Code = "unsupported_media_type"
	ValidationFailed      Code = "validation_failed"
	InvalidFilter         Code = "invalid_filter"
	InvalidSort           Code = "invalid_sort"
	RateLimited           Code = "rate_limited"
	Damaged               Code = "damaged"
	Internal              Code = "internal"
	Unavailable           Code = "unavailable"
	Timeout               Code = "timeout"
)

// Error is a refused request. Details lists each problem with its path in the request. Wait is how long
// the caller should wait before repeating the request, if that is known.
type Error struct {
	Code    Code
	Message string
	Details []Detail
	Wait    time.Duration
}

// Detail is one problem of a request. ID is the record that the request conflicts with, if any.
type Detail struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	ID      string `json:"id,omitempty"`
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// New returns an error without details.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ErrNotFound is returned both for records that do not exist and for records of other
// organizations, so that callers cannot tell them apart.
var ErrNotFound = New(NotFound, "Resource not found")

// Taken returns the error for a value at path that conflicts with the record id.
func Taken(code Code, path, id, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{Code: code, Message: path + ": " + message, Details: []Detail{{Path: path, Message: message, ID: id}}}
}

// CodeOf returns the code of err, or Internal if err is not an Error.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// Refusal returns the refusal of a record, or nil if err concerns more than the record.
func Refusal(err error) *Error {
	var refused *Error
	if errors.As(err, &refused) && refused.Code != Unavailable {
		return refused
	}
	return nil
}

// maxDetails is the number of problems that a response lists. Without it, a hostile body could
// cause a response larger than itself.
const maxDetails = 1000

// maxPath is the number of bytes of a path that a response repeats. A filter of 200 levels fits.
const maxPath = 4000

// Problems collects the problems of one request, so that all of them are reported at once.
type Problems struct {
	code  Code
	list  []Detail
	count int
}

// Add records a problem. The first code added is the code of the resulting error.
func (p *Problems) Add(code Code, path, format string, args ...any) {
	if p.code == "" {
		p.code = code
	}
	if p.count++; p.count > maxDetails {
		return
	}
	if len(path) > maxPath { // a key that the caller chose
		path = strings.ToValidUTF8(path[:maxPath], "") + "…"
	}
	p.list = append(p.list, Detail{Path: path, Message: fmt.Sprintf(format, args...)})
}

// Invalid records a problem of the body under the code validation_failed.
func (p *Problems) Invalid(path, format string, args ...any) {
	p.Add(ValidationFailed, path, format, args...)
}

// Has reports whether there is a problem at path or below it, so that later rules need not report
// the same field again.
func (p *Problems) Has(path string) bool {
	return slices.ContainsFunc(p.list, func(d Detail) bool {
		rest, under := strings.CutPrefix(d.Path, path)
		return under && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// At reports whether there is a problem at exactly path.
func (p *Problems) At(path string) bool {
	return slices.ContainsFunc(p.list, func(d Detail) bool { return d.Path == path })
}

// Details returns the problems recorded so far, at most maxDetails.
func (p *Problems) Details() []Detail { return p.list }

// Count returns the number of problems recorded so far.
func (p *Problems) Count() int { return p.count }

// Err returns nil if there are no problems. Otherwise it returns an error whose message is the
// first problem and whose details list all of them.
func (p *Problems) Err() error {
	if len(p.list) == 0 {
		return nil
	}
	first, details := p.list[0], p.list
	if more := p.count - len(details); more > 0 {
		message := fmt.Sprintf("first of %d problems; %d are not listed", p.count, more)
		details = append(details, Detail{Path: first.Path, Message: message})
	}
	return &Error{Code: p.code, Message: first.Path + ": " + first.Message, Details: details}
}
