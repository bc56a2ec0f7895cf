package handlers

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/store"
)

// errorRow maps an error code to its HTTP status and documents when it occurs.
type errorRow struct {
	code   fault.Code
	status int
	when   string
}

var errorTable = []errorRow{
	{fault.InvalidJSON, http.StatusBadRequest, "The request body is not a JSON object in UTF-8."},
	{fault.InvalidForm, http.StatusBadRequest, "The request body is not multipart/form-data, or ends too early."},
	{fault.Unauthorized, http.StatusUnauthorized, "The API key is missing, malformed, unknown, expired or deactivated, or the session has ended. When signing in: the address, password or link is wrong."},
	{fault.ImportLimitExceeded, http.StatusPaymentRequired, "The Import would exceed the balance of the month."},
	{fault.Forbidden, http.StatusForbidden, "The API key or the user does not have the access that the operation requires, or a request with a session cookie may come from another site."},
	{fault.NotFound, http.StatusNotFound, "The path or the record does not exist, or the record belongs to another organization."},
	{fault.MethodNotAllowed, http.StatusMethodNotAllowed, "The path does not support this method. Allow lists the methods that it supports."},
	{fault.TagNameTaken, http.StatusConflict, "Another tag of the same object type has this name."},
	{fault.FieldKeyTaken, http.StatusConflict, "Another field of the entity has this key."},
	{fault.ViewNameTaken, http.StatusConflict, "Another view has this name."},
	{fault.ExternalIDTaken, http.StatusConflict, "Another record of the entity has this external_id."},
	{fault.AudienceNameTaken, http.StatusConflict, "Another audience has this name."},
	{fault.AudienceArchived, http.StatusConflict, "The audience is archived."},
	{fault.AudienceDynamic, http.StatusConflict, "The audience is dynamic: its filters decide who belongs to it."},
	{fault.CountChanged, http.StatusConflict, "The selection has another number of records than expect says. The message has the number."},
	{fault.CampaignHeld, http.StatusConflict, "The campaign is held, so it cannot become active. Release it first."},
	{fault.CampaignNotHeld, http.StatusConflict, "The campaign is not held, so it cannot be released."},
	{fault.CampaignNotEnrollable, http.StatusConflict, "The campaign is neither active nor paused, so it accepts no contacts."},
	{fault.Suppressed, http.StatusConflict, "The address or its domain is suppressed, or the contact has opted out, so nothing is sent."},
	{fault.Erased, http.StatusConflict, "The address belongs to a person who was erased. It can be added again when the suppression with the reason erased is deleted."},
	{fault.CapReached, http.StatusConflict, "The sender's daily cap is reached."},
	{fault.NotUndoable, http.StatusConflict, "The operation cannot be undone: it was a dry run, has corrected the text of a campaign, erased a person or deleted records permanently, has changed nothing, or ended more than 30 days ago."},
	{fault.OperationRunning, http.StatusConflict, "The operation, or what follows from it, is still running. Try again when it has ended."},
	{fault.AlreadyUndone, http.StatusConflict, "The operation was undone already. The details contain the undo."},
	{fault.UndoConflict, http.StatusConflict, "Another operation must be undone first. The details contain its id."},
	{fault.LastAudience, http.StatusConflict, "The campaign must keep at least one audience."},
	{fault.InvalidTransition, http.StatusConflict, "The current status does not allow this change."},
	{fault.InUse, http.StatusConflict, "Another record still uses this one."},
	{fault.RequestIDReused, http.StatusConflict, "The request_id was used before with a different request."},
	{fault.PreviewNotReady, http.StatusConflict, "The Preview is not READY."},
	{fault.PreviewNotPreparing, http.StatusConflict, "The Preview is no longer being prepared."},
	{fault.ImportAccepted, http.StatusConflict, "An Import of the Preview was already accepted."},
	{fault.NothingToImport, http.StatusConflict, "No member of the Preview is selected."},
	{fault.ImportNotRunning, http.StatusConflict, "The import is over, so it cannot be cancelled."},
	{fault.TooManyImports, http.StatusConflict, "The organization has 20 unfinished imports, which is the maximum."},
	{fault.SeveralOrganizations, http.StatusConflict, "The address and the password belong to users of several organizations. details has their ids; repeat the request with one of them as organization_id."},
	{fault.LastAdmin, http.StatusConflict, "The user is the last active admin of the organization."},
	{fault.UserInactive, http.StatusConflict, "The user is deactivated."},
	{fault.TooManySubscriptions, http.StatusConflict, "The organization has 50 webhook subscriptions, which is the maximum."},
	{fault.SubscriptionNotActive, http.StatusConflict, "The webhook subscription is not active."},
	{fault.IdempotencyKeyReused, http.StatusConflict, "The Idempotency-Key was used before with a different request."},
	{fault.PreconditionFailed, http.StatusPreconditionFailed, "The record has a version other than the one in If-Match."},
	{fault.BodyTooLarge, http.StatusRequestEntityTooLarge, "The request body exceeds limits.body_bytes, or has more than 50,000 JSON values (500,000 in a batch), or the file of an import exceeds limits.import_bytes."},
	{fault.UnsupportedMediaType, http.StatusUnsupportedMediaType, "The request body is not application/json or, if the operation takes a file, multipart/form-data."},
	{fault.ValidationFailed, http.StatusUnprocessableEntity, "A field is missing, unknown, of the wrong type or out of range."},
	{fault.InvalidFilter, http.StatusUnprocessableEntity, "A filter has an unknown or unsupported field, condition or value, or exceeds 1,000 rules, 10,000 values, 50 search words or 200 levels."},
	{fault.InvalidSort, http.StatusUnprocessableEntity, "The sort contains a field that does not support sorting."},
	{fault.RateLimited, http.StatusTooManyRequests, "The organization, or the user of a session, has reached its requests per minute, too many of its requests or too many sign-ins are in progress, too many attempts to sign in have failed, or the organization has sent 50 test messages today. Retry-After says when to try again."},
	{fault.Damaged, http.StatusInternalServerError, "A record, or other data that the request needs, is damaged on disk and cannot be read. details has the id of the record. DELETE removes it; the operator can recover it from a backup."},
	{fault.Internal, http.StatusInternalServerError, "An internal error. The server log has details under the request id."},
	{fault.Unavailable, http.StatusServiceUnavailable, "The service is shutting down, cannot write to its disk, too many large bodies are being processed, a list needs an index that is being built, or references to a record that is to be restored are still being removed."},
	{fault.Timeout, http.StatusServiceUnavailable, "The list takes longer than limits.list_time."},
}

func errorRowOf(code fault.Code) errorRow {
	for _, row := range errorTable {
		if row.code == code {
			return row
		}
	}
	return errorRow{fault.Internal, http.StatusInternalServerError, ""}
}

// Error is the body of every error response except 401.
type Error struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody describes an error. The message contains the first problem, the details list all of them.
type ErrorBody struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Details []ErrorDetail `json:"details,omitempty" rule:"optional"`
}

// ErrorDetail is one problem and its path in the request. ID is the record that a unique value conflicts
// with, or the record that is damaged, of the kind in Path.
type ErrorDetail struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	ID      string `json:"id,omitempty" rule:"optional"`
}

// Unauthorized is the body of a 401.
type Unauthorized struct {
	Detail string `json:"detail"`
}

// retryUnavailable is the number of seconds after which a client should repeat a request that was
// answered 503.
const retryUnavailable = "5"

// errorResponse returns the response to an error. An error that is not a fault.Error is a bug or a disk
// failure: it is logged, and the caller receives only the request id.
func (c *call) errorResponse(err error) response {
	var f *fault.Error
	if errors.Is(err, context.Canceled) && c.request.Context().Err() != nil {
		f = fault.New(fault.Unavailable, "the client disconnected before the request was processed")
	} else if isDamaged := errors.Is(err, store.ErrDamaged); isDamaged || !errors.As(err, &f) {
		attrs := []any{"request_id", c.requestID, "operation", c.opName(), "error", err}
		var panicked interface{ Stack() string }
		if errors.As(err, &panicked) {
			attrs = append(attrs, "stack", panicked.Stack())
		}
		c.api.Log.Error("request failed", attrs...)
		switch isPublic := c.op == nil || c.op.Access == Public; {
		case store.IsDamagedRecord(err) && !isPublic: // the public learns no ids
			errors.As(err, &f)
		case isDamaged && panicked == nil:
			f = fault.New(fault.Damaged, "data that the request needs is damaged and cannot be read; the server log has details under request id %s", c.requestID)
		default:
			f = c.internal()
		}
	}
	row := errorRowOf(f.Code)
	c.code = f.Code
	a := response{status: row.status}
	if f.Code == fault.Unauthorized {
		a.body = mustJSON(Unauthorized{Detail: f.Message})
		a.header = http.Header{"Www-Authenticate": {"Bearer"}}
		return a
	}
	if row.status == http.StatusServiceUnavailable {
		a.header = http.Header{"Retry-After": {retryUnavailable}}
	}
	if f.Wait > 0 {
		a.header = http.Header{"Retry-After": {strconv.Itoa(seconds(f.Wait))}}
	}
	a.body = mustJSON(Error{Error: errorBody(f)})
	return c.asRecipientPage(a)
}

func errorBody(f *fault.Error) ErrorBody {
	body := ErrorBody{Code: string(f.Code), Message: f.Message}
	for _, d := range f.Details {
		body.Details = append(body.Details, ErrorDetail(d))
	}
	return body
}

// internal returns the error that a caller receives for a bug. It reveals nothing but the request id.
func (c *call) internal() *fault.Error {
	return fault.New(fault.Internal, "internal error; the server log has details under request id %s", c.requestID)
}

func (c *call) opName() string {
	if c.op == nil {
		return ""
	}
	return c.op.Name
}

// ErrorCodes returns all error codes that the operation may return, in the order of the table.
func (o *Operation) ErrorCodes() []fault.Code {
	may := map[fault.Code]bool{fault.Internal: true}
	for _, c := range o.Codes {
		may[c] = true
	}
	if o.Access != Public {
		may[fault.Damaged], may[fault.ValidationFailed] = true, true
		may[fault.Unauthorized], may[fault.Forbidden], may[fault.RateLimited] = true, true, true
		may[fault.Unavailable] = true
	}
	if o.input.typ != nil {
		may[fault.InvalidJSON], may[fault.BodyTooLarge], may[fault.UnsupportedMediaType] = true, true, true
	}
	if o.form != nil {
		may[fault.InvalidForm], may[fault.InvalidJSON], may[fault.BodyTooLarge], may[fault.UnsupportedMediaType] = true, true, true, true
	}
	if o.listKind != nil {
		may[fault.InvalidFilter], may[fault.InvalidSort] = true, true
		may[fault.Timeout] = o.output.streams == nil // exports have no time limit
	}
	may[fault.NotFound] = may[fault.NotFound] || len(o.params) > 0
	may[fault.PreconditionFailed] = o.honorsIfMatch
	may[fault.IdempotencyKeyReused] = o.idempotent()
	var codes []fault.Code
	for _, row := range errorTable {
		if may[row.code] {
			codes = append(codes, row.code)
		}
	}
	return codes
}

// idempotent reports whether the operation honors Idempotency-Key.
func (o *Operation) idempotent() bool { return o.writes && o.Method == http.MethodPost }

func methodNotAllowed(allow []string) *fault.Error {
	return fault.New(fault.MethodNotAllowed, "method not allowed; this path supports %s", strings.Join(allow, ", "))
}

func forbidden(needed identity.Access) *fault.Error {
	return fault.New(fault.Forbidden, "this operation requires %s access", needed)
}
