package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/identity"
)

// errorRow is one row of the table of errors: the status that a code becomes, and when it is answered.
type errorRow struct {
	code   fault.Code
	status int
	when   string
}

var errorTable = []errorRow{
	{fault.InvalidJSON, http.StatusBadRequest, "The body is not one JSON object of valid UTF-8."},
	{fault.Unauthorized, http.StatusUnauthorized, "The API key is missing, malformed, unknown, expired or deactivated."},
	{fault.ImportLimitExceeded, http.StatusPaymentRequired, "The Import would go over the balance of the month."},
	{fault.Forbidden, http.StatusForbidden, "The key's access does not cover the operation."},
	{fault.NotFound, http.StatusNotFound, "The path or the id is unknown, or the id belongs to another organization."},
	{fault.MethodNotAllowed, http.StatusMethodNotAllowed, "The path has no such method."},
	{fault.TagNameTaken, http.StatusConflict, "Another tag of the object type has the name."},
	{fault.FieldKeyTaken, http.StatusConflict, "Another field of the entity has the key."},
	{fault.ViewNameTaken, http.StatusConflict, "Another view has the name."},
	{fault.ExternalIDTaken, http.StatusConflict, "Another record of the entity has the external_id."},
	{fault.AudienceNameTaken, http.StatusConflict, "Another audience has the name."},
	{fault.AudienceArchived, http.StatusConflict, "The audience is archived."},
	{fault.CampaignNotEnrollable, http.StatusConflict, "The campaign takes nobody: it is not active or paused."},
	{fault.LastAudience, http.StatusConflict, "The campaign would be left without an audience."},
	{fault.InvalidTransition, http.StatusConflict, "The status does not allow it."},
	{fault.InUse, http.StatusConflict, "Something still needs what would go."},
	{fault.RequestIDReused, http.StatusConflict, "The request_id came with another request before."},
	{fault.PreviewNotReady, http.StatusConflict, "The Preview is not READY."},
	{fault.PreviewNotPreparing, http.StatusConflict, "The Preview is over already."},
	{fault.ImportAccepted, http.StatusConflict, "An Import of the Preview was accepted."},
	{fault.NothingToImport, http.StatusConflict, "No member of the Preview is selected."},
	{fault.SubscriptionNotActive, http.StatusConflict, "The webhook subscription is not active."},
	{fault.IdempotencyKeyReused, http.StatusConflict, "The Idempotency-Key came with another request before."},
	{fault.PreconditionFailed, http.StatusPreconditionFailed, "If-Match names another version."},
	{fault.BodyTooLarge, http.StatusRequestEntityTooLarge, "The body is over the configured limit."},
	{fault.UnsupportedMediaType, http.StatusUnsupportedMediaType, "The body is not application/json."},
	{fault.ValidationFailed, http.StatusUnprocessableEntity, "A field is missing, of the wrong type, out of bounds or not known."},
	{fault.InvalidFilter, http.StatusUnprocessableEntity, "A filter names an unknown or unsupported field, condition or value."},
	{fault.InvalidSort, http.StatusUnprocessableEntity, "The sort names a field that cannot be sorted by."},
	{fault.RateLimited, http.StatusTooManyRequests, "The organization has used up its requests of this minute."},
	{fault.Internal, http.StatusInternalServerError, "A bug; the log has the request id."},
	{fault.Unavailable, http.StatusServiceUnavailable, "The service is shutting down, or the disk refuses writes."},
}

func rowOf(code fault.Code) errorRow {
	for _, row := range errorTable {
		if row.code == code {
			return row
		}
	}
	return errorRow{fault.Internal, http.StatusInternalServerError, ""}
}

// Error is the body of every error but 401.
type Error struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody says what is wrong: the message names the first problem, the details list all.
type ErrorBody struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Details []ErrorDetail `json:"details,omitempty" rule:"optional"`
}

// ErrorDetail is one problem, by its path in the request. The id is that of the record a name or reference collides with.
type ErrorDetail struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	ID      string `json:"id,omitempty" rule:"optional"`
}

// Unauthorized is the body of a 401.
type Unauthorized struct {
	Detail string `json:"detail"`
}

// errorAnswer is the answer to an error. What is no fault is a bug or a broken disk: the caller learns the request id
// and the log the rest.
func (c *call) errorAnswer(err error) answer {
	var f *fault.Error
	if errors.Is(err, context.Canceled) && c.request.Context().Err() != nil {
		f = fault.New(fault.Unavailable, "the caller went away before the request was begun")
	} else if !errors.As(err, &f) {
		attrs := []any{"request_id", c.requestID, "operation", c.opName(), "error", err}
		var panicked interface{ Stack() string }
		if errors.As(err, &panicked) {
			attrs = append(attrs, "stack", panicked.Stack())
		}
		c.api.Log.Error("request failed", attrs...)
		f = c.internal()
	}
	row := rowOf(f.Code)
	c.code = f.Code
	a := answer{status: row.status}
	if f.Code == fault.Unauthorized {
		a.body = mustJSON(Unauthorized{Detail: f.Message})
		a.header = http.Header{"Www-Authenticate": {"Bearer"}}
		return a
	}
	a.body = mustJSON(Error{Error: errorBody(f)})
	return c.forPeople(a)
}

func errorBody(f *fault.Error) ErrorBody {
	body := ErrorBody{Code: string(f.Code), Message: f.Message}
	for _, d := range f.Details {
		body.Details = append(body.Details, ErrorDetail(d))
	}
	return body
}

// internal is what a caller learns of a bug.
func (c *call) internal() *fault.Error {
	return fault.New(fault.Internal, "something went wrong; the log has it under request id %s", c.requestID)
}

func (c *call) opName() string {
	if c.op == nil {
		return ""
	}
	return c.op.Name
}

// ErrorCodes are all the errors that an operation may answer, in the order of the table.
func (o *Operation) ErrorCodes() []fault.Code {
	may := map[fault.Code]bool{fault.Internal: true, fault.ValidationFailed: true}
	for _, c := range o.Codes {
		may[c] = true
	}
	if o.Access == Public {
		delete(may, fault.ValidationFailed)
	} else {
		may[fault.Unauthorized], may[fault.RateLimited] = true, true
		may[fault.Unavailable] = true
		may[fault.Forbidden] = o.Access != identity.Read
	}
	if o.input.typ != nil {
		may[fault.InvalidJSON], may[fault.BodyTooLarge], may[fault.UnsupportedMediaType] = true, true, true
	}
	if o.lists != nil {
		may[fault.InvalidFilter], may[fault.InvalidSort] = true, true
	}
	may[fault.NotFound] = may[fault.NotFound] || len(o.params) > 0
	may[fault.PreconditionFailed] = o.guarded
	may[fault.IdempotencyKeyReused] = o.idempotent()
	var codes []fault.Code
	for _, row := range errorTable {
		if may[row.code] {
			codes = append(codes, row.code)
		}
	}
	return codes
}

// idempotent tells whether the operation honours Idempotency-Key.
func (o *Operation) idempotent() bool { return o.writes && o.Method == http.MethodPost }

func methodNotAllowed(allow []string) *fault.Error {
	return fault.New(fault.MethodNotAllowed, "this path takes %s", strings.Join(allow, ", "))
}

func forbidden(needed identity.Access) *fault.Error {
	return fault.New(fault.Forbidden, "this operation needs a key with %s access", needed)
}
