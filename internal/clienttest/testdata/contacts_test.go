// This is compiled beside the client that is generated from the API document.
package client

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/oapi-codegen/runtime/types"
)

func TestContacts(t *testing.T) {
	ctx := t.Context()
	c, err := NewClientWithResponses(os.Getenv("CLIENT_URL"), WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("CLIENT_KEY"))
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	field, err := c.CreateFieldWithResponse(ctx, &CreateFieldParams{}, FieldCreate{
		Entity: FieldCreateEntityContacts, Key: "tier", DataType: FieldCreateDataTypeEnum, AllowedValues: &[]string{"gold", "silver"},
	})
	if err != nil || field.JSON201 == nil {
		t.Fatalf("%v %s", err, field.Body)
	}
	created, err := c.CreateContactWithResponse(ctx, &CreateContactParams{IdempotencyKey: new("once")}, ContactCreate{
		Email:                new(types.Email("bill@initech.example")),
		LastName:             new("Lumbergh"),
		Source:               new(ContactCreateSourceCsv),
		Scoring:              &ScoringCreate{HeatScore: new(ScoringCreateHeatScoreHot)},
		AdditionalProperties: map[string]any{"custom_field_tier": "gold"},
	})
	if err != nil || created.JSON201 == nil {
		t.Fatalf("%v %s", err, created.Body)
	}
	bill := created.JSON201.Data
	updated, err := c.UpdateContactWithResponse(ctx, bill.Id, &UpdateContactParams{IfMatch: created.Headers201.ETag}, ContactUpdate{
		Title: new("VP"), AdditionalProperties: map[string]any{"custom_field_tier": "silver"},
	})
	if err != nil || updated.JSON200 == nil {
		t.Fatalf("%v %s", err, updated.Body)
	}

	all, err := c.ListContactsWithResponse(ctx, ListBody{PageSize: new(3)})
	if err != nil || all.JSON200 == nil {
		t.Fatalf("%v %s", err, all.Body)
	}
	if p := all.JSON200.Pagination; len(all.JSON200.Data) != 3 || p.TotalCount <= 3 || p.PageSize != 3 {
		t.Errorf("a page of three has %d contacts, %+v", len(all.JSON200.Data), p)
	}

	found, err := c.ListContactsWithResponse(ctx, ListBody{
		Filters: filters(t, rule(t, "email", FilterRuleConditionIs, "bill@initech.example"), rule(t, "custom_field_tier", FilterRuleConditionIs, []string{"silver"})),
		Sort:    new("-created_at"),
	})
	if err != nil || found.JSON200 == nil || len(found.JSON200.Data) != 1 {
		t.Fatalf("%v %s", err, found.Body)
	}
	got := found.JSON200.Data[0]
	if got.Id != bill.Id || *got.Email != "bill@initech.example" || *got.Title != "VP" || got.FirstName != nil || got.AccountId != nil ||
		got.Source != ContactSourceCsv || *got.Scoring.HeatScore != ScoringHeatScoreHot || got.AdditionalProperties["custom_field_tier"] != "silver" {
		t.Errorf("listed %s", found.Body)
	}

	refused, err := c.ListContactsWithResponse(ctx, ListBody{Sort: new("shoe_size")})
	if err != nil || refused.JSON422 == nil || refused.JSON422.Error.Code != "invalid_sort" {
		t.Errorf("%v %s", err, refused.Body)
	}
}

func rule(t *testing.T, field string, condition FilterRuleCondition, value any) (f Filter) {
	t.Helper()
	if err := f.FromFilterRule(FilterRule{Field: field, Condition: condition, Value: value}); err != nil {
		t.Fatal(err)
	}
	return f
}

// filters wants all of them, as one expression.
func filters(t *testing.T, all ...Filter) *Filters {
	t.Helper()
	var f Filters
	if err := f.FromFilterExpression(FilterExpression{Operator: new(FilterOperator("and")), Filters: all}); err != nil {
		t.Fatal(err)
	}
	return &f
}
