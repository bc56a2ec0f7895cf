package tam_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
)

// TestPreviewTagsByName gives the tags of a Preview by name. Names are those of tags of the right
// object, in any case.
func TestPreviewTagsByName(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	market(app, 1, 1)
	tag := func(name, object string) string {
		return org.Write.Post("/v1/tags", map[string]string{"name": name, "color": "red", "object_type": object}).Is(201).ID()
	}
	account, contact, second := tag("Market", "account"), tag("Market", "contact"), tag("Second wave", "contact")
	const body = `{"request_id": %q, "company_filters": {}, "tag_ids": %s, "contact_tag_ids": %s}`
	names := fmt.Sprintf(body, uuid.NewString(), `["market"]`, `["SECOND  WAVE", "Market"]`)
	ids := strings.NewReplacer(`["market"]`, `["`+account+`"]`, `"SECOND  WAVE"`, `"`+second+`"`, `"Market"`, `"`+contact+`"`).Replace(names)
	org.Read.Post("/v1/tam/preview/estimate", names).Is(200)
	made := org.Write.Post("/v1/tam/preview", names).Is(202)
	if got := fmt.Sprint(made.Value("data.request.tag_ids"), made.Value("data.request.contact_tag_ids")); got != fmt.Sprintf("[%s] [%s %s]", account, second, contact) {
		t.Errorf("the tags of the request are %s", got)
	}
	preview := made.Text("data.preview_id")
	for _, again := range []string{names, ids} { // the same request in either spelling
		if res := org.Write.Post("/v1/tam/preview", again).Is(200); res.Text("data.preview_id") != preview {
			t.Errorf("%s", res.Body)
		}
	}
	app.Work()
	org.Write.Post("/v1/tam/preview/"+preview+"/import", nil).Is(202)
	app.Work()
	for entity, tags := range map[string]string{"accounts": "Market", "contacts": "Second wave"} {
		if n := org.Read.Post("/v1/"+entity+"/list", `{"filters": [{"field": "tags", "condition": "is", "value": "`+tags+`"}]}`).Is(200).Int("pagination.total_count"); n != 1 {
			t.Errorf("%d %s have the tag %s", n, entity, tags)
		}
	}
	for path, lists := range map[string][2]string{
		`tag_ids[1]: "Second wave" is neither an id nor a known name`:     {`["Market", "Second wave"]`, `[]`},
		`contact_tag_ids[0]: "Nobody" is neither an id nor a known name`:  {`[]`, `["Nobody"]`},
		`contact_tag_ids[1]: the tag is for another object type, account`: {`[]`, `["Market", "` + account + `"]`},
		`tag_ids: must be a list`: {`"Market"`, `[]`},
	} {
		for _, operation := range []string{"", "/estimate"} {
			t.Run(path+operation, func(t *testing.T) {
				org.Write.In(t).Post("/v1/tam/preview"+operation, fmt.Sprintf(body, uuid.NewString(), lists[0], lists[1])).Fails(422, "validation_failed", path)
			})
		}
	}
}
