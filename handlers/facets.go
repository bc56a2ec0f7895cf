package handlers

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/store"
)

// FacetsBody asks for the values of a field in the records that match.
type FacetsBody struct {
	Field   string      `json:"field" rule:"required" doc:"The key of a field, but not of a long text or a time."`
	Filters shape.Value `json:"filters" rule:"component=Filters"`
	Search  string      `json:"search" doc:"Search words, as in a list."`
	Limit   int         `json:"limit" rule:"min=1,max=500,default=50" doc:"The number of values."`
}

// Facets are the values of a field with the number of records that have each.
type Facets struct {
	Field         string  `json:"field"`
	TotalCount    int     `json:"total_count" doc:"The number of records that match."`
	EmptyCount    int     `json:"empty_count" doc:"The number of them without a value."`
	DistinctCount int     `json:"distinct_count" doc:"The number of values. At most limit of them are in values."`
	Values        []Facet `json:"values" doc:"The most frequent first, then in the order of the values."`
}

// Facet is a value of a field.
type Facet struct {
	Value shape.Value `json:"value" doc:"A string, number or boolean, as a filter with is takes it. Of a text that is compared in any spelling, the form in which it is compared."`
	Name  *string     `json:"name" doc:"The name of the record that the value refers to, or null."`
	Count int         `json:"count"`
}

// facetsOperation counts the values of a field.
func (a *API) facetsOperation(kind *index.Kind) Operation {
	kinds := a.referenceKinds()
	return withoutTx(Operation{
		Name: "facet_" + strings.ReplaceAll(kind.Entity, "-", "_"), Method: http.MethodPost, Path: "/v1/" + kind.Entity + "/facets", Access: identity.Read,
		Codes:   []fault.Code{fault.InvalidFilter, fault.Timeout},
		Summary: "Count the values that a field has in all matching " + kind.Entity,
		example: []byte(`{"field": "tags", "limit": 10}`),
	}, func(c *call, in FacetsBody) (Facets, error) {
		ctx, cancel := c.listContext()
		defer cancel()
		query := c.compileQuery(kind, filter.ListBody{Filters: in.Filters, Search: in.Search, Page: 1, PageLimit: filter.PageLimit{PageSize: 1}}, fault.Problems{})
		var field *filter.Field
		found, err := a.Index.Facets(ctx, c.org(), kind, query, func(cs *filter.CustomFields) (_ *filter.Field, err error) {
			field, err = filter.FacetField(c.queryable(kind), cs, in.Field)
			return field, err
		}, in.Limit)
		if err != nil {
			return Facets{}, whileBuilding(err)
		}
		out := Facets{Field: in.Field, TotalCount: found.Total, EmptyCount: found.Empty, DistinctCount: found.Distinct, Values: []Facet{}}
		for _, v := range found.Values {
			out.Values = append(out.Values, Facet{Value: facetValue(field, v), Count: v.Count})
		}
		if refers := kinds[field.Ref]; refers != nil {
			err = a.Store.View(c.org(), func(tx *store.Tx) error { return nameFacets(tx, refers, out.Values) })
		}
		return out, err
	})
}

// nameFacets sets the names of ids.
func nameFacets(tx *store.Tx, kind *index.Kind, facets []Facet) error {
	for i := range facets {
		id, err := uuid.Parse(facets[i].Value.Text)
		if err != nil {
			return err
		}
		name, err := recordName(tx, kind, id)
		if err != nil {
			return err
		}
		if name != "" {
			facets[i].Name = &name
		}
	}
	return nil
}

// facetValue returns a value as a filter takes it.
func facetValue(f *filter.Field, v index.FacetValue) shape.Value {
	switch f.Type {
	case shape.TypeBoolean:
		return shape.Value{Kind: shape.Bool, True: v.Num != 0}
	case shape.TypeNumber:
		return shape.Value{Kind: shape.Num, Text: shape.TextOf(v.Num)}
	case shape.TypeDate:
		return shape.Value{Kind: shape.String, Text: time.UnixMilli(int64(v.Num)).UTC().Format(time.DateOnly)}
	}
	return shape.Value{Kind: shape.String, Text: v.Text}
}
