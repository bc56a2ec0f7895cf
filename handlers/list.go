package handlers

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/store"
)

// list makes the list operation of a kind in the caller's organization.
func list[T any](o Operation, kind *index.Kind) Operation {
	return listOfOrg[T](o, kind, (*call).org)
}

// listOfOrg makes the list operation of a kind in the organization that org returns.
func listOfOrg[T any](o Operation, kind *index.Kind, org func(*call) uuid.UUID) Operation {
	return listSome[T](o, kind, org, func(_ *call, all index.Query) (index.Query, error) { return all, nil })
}

// listSome makes a list operation whose query restrict narrows to some of the records.
func listSome[T any](o Operation, kind *index.Kind, org func(*call) uuid.UUID, restrict func(*call, index.Query) (index.Query, error)) Operation {
	o.Method, o.Access = http.MethodPost, identity.Read
	o.listKind = kind
	return withoutTx(o, func(c *call, body listBody) (page[T], error) {
		var q filter.ListBody
		var p fault.Problems
		shape.Decode(body.Value, &q, shape.Create, &p)
		query, err := restrict(c, c.compileQuery(kind, q, p))
		if err != nil {
			return page[T]{}, err
		}
		return readPage[T](c, org(c), kind, o.present, q, query)
	})
}

// readPage reads the page of a list.
func readPage[T any](c *call, org uuid.UUID, kind *index.Kind, present presenter, q filter.ListBody, query index.Query) (out page[T], err error) {
	ctx, cancel := c.listContext()
	defer cancel()
	err = c.api.Index.List(ctx, org, kind, query, func(p index.Page) (err error) {
		records := p.Records
		if present != nil {
			if records, err = present(c, records); err != nil {
				return err
			}
		}
		out.envelope = c.api.listEnvelope(records, paginate(q.Page, q.PageSize, p.Total), p.Damaged)
		return nil
	})
	return out, whileBuilding(err)
}

// whileBuilding returns the error that a caller receives for a list whose index is being built.
func whileBuilding(err error) error {
	var building *index.BuildingError
	if errors.As(err, &building) {
		return fault.New(fault.Unavailable, "%v; until then only the default order without filters is available", building)
	}
	return err
}

// listContext returns the context of a list, which ends when the client disconnects or after the time that
// a list may take.
func (c *call) listContext() (context.Context, context.CancelFunc) {
	ctx, limit := c.request.Context(), c.api.ListTime
	if limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, fault.New(fault.Timeout, "the list takes longer than %s; use fewer or simpler filters", limit))
}

// compileQuery returns a query that reports the problems of decoding together with those of compiling.
func (c *call) compileQuery(kind *index.Kind, q filter.ListBody, decoding fault.Problems) index.Query {
	return func(tx *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
		p, named := decoding, q
		var err error
		if named.Filters, err = kind.WithIDs(tx, q.Filters); err != nil {
			return nil, err
		}
		plan := filter.Compile(c.queryable(kind), cs, named, &p)
		return plan, p.Err()
	}
}

// queryable returns the fields of a kind that the caller can query.
func (c *call) queryable(kind *index.Kind) *filter.Kind {
	if c.principal.Access == identity.Read {
		return kind.ForReaders()
	}
	return kind.Kind
}

// restrictTo narrows a query to the records whose ids members returns.
func restrictTo(query index.Query, members func(*store.Tx) ([]uuid.UUID, error)) index.Query {
	return func(tx *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
		plan, err := query(tx, cs)
		if err != nil {
			return nil, err
		}
		ids, err := members(tx)
		return plan.Only(ids), err
	}
}

// whereID narrows a query to the records that have the id in the field.
func whereID(query index.Query, field string, id uuid.UUID) index.Query {
	return func(tx *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
		plan, err := query(tx, cs)
		if err != nil {
			return nil, err
		}
		return plan.Where(field, id), nil
	}
}
