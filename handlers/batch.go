package handlers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// BatchBody is the body of a batch request.
type BatchBody struct {
	Records []shape.Value `json:"records" rule:"required,maxlen=1000" doc:"Each record has the form of a create request or, with an id, of an update request. An invalid record does not stop the others."`
	MatchOn string        `json:"match_on" doc:"The field that identifies existing records. A record without an id updates the oldest record with the same value, ignoring case, instead of creating another one. Addresses are compared in any spelling, websites by registrable domain; a website on a host that many companies share matches nothing. One of external_id; for contacts also email or linkedin_url; for accounts also website. With match_on, every record may have add_tags and remove_tags."`
}

// BatchResult reports the outcome of a batch.
type BatchResult struct {
	Succeeded int           `json:"succeeded"`
	Failed    int           `json:"failed"`
	Results   []BatchRecord `json:"results"`
}

// BatchRecord reports the outcome of one record of a batch: its id, or an error.
type BatchRecord struct {
	Index   int        `json:"index"`
	ID      *uuid.UUID `json:"id,omitempty" rule:"optional"`
	Created *bool      `json:"created,omitempty" rule:"optional"`
	Error   *ErrorBody `json:"error,omitempty" rule:"optional"`
}

// batchBody is the decoded body of a batch of records T. References are checked later, in the transaction.
type batchBody[T any] struct {
	BatchBody
	items []record.Item[T]
	err   error
}

func (batchBody[T]) source() schemaSource { return inputOf[BatchBody]() }

func (b *batchBody[T]) set(v shape.Value) {
	var p fault.Problems
	shape.Decode(v, &b.BatchBody, shape.Create, &p)
	if b.err = p.Err(); b.err != nil {
		return
	}
	for _, r := range b.Records {
		b.items = append(b.items, record.NewItem[T](r, b.MatchOn))
	}
}

// batchOperation creates and updates many records in one transaction.
func batchOperation[T any](k *record.Kind[T]) Operation {
	return write(Operation{
		Name: "batch_" + k.Entity, Method: http.MethodPost, Path: "/v1/" + k.Entity + "/batch", Access: identity.Write,
		Summary: "Create and update up to 1000 " + k.Entity + " in one request", maxValues: shape.MaxValues,
	}, func(_ *call, tx *store.Tx, in batchBody[T]) (BatchResult, error) {
		if in.err != nil {
			return BatchResult{}, in.err
		}
		if err := checkMatchOn(in.MatchOn, k.MatchFields()); err != nil {
			return BatchResult{}, err
		}
		outcomes, err := k.Batch(tx, in.items, in.MatchOn)
		if err != nil {
			return BatchResult{}, err
		}
		result := BatchResult{Results: make([]BatchRecord, len(outcomes))}
		for i, o := range outcomes {
			r := BatchRecord{Index: i}
			if o.Err != nil {
				body := errorBody(o.Err)
				r.Error = &body
				result.Failed++
			} else {
				r.ID, r.Created = &o.ID, &o.Created
				result.Succeeded++
			}
			result.Results[i] = r
		}
		return result, nil
	})
}

func checkMatchOn(field string, known []string) error {
	var p fault.Problems
	if field == "" || slices.Contains(known, field) {
		return nil
	}
	p.Invalid("match_on", "%s is not one of: %s", shape.Quote(field), strings.Join(known, ", "))
	return p.Err()
}
