package apptest

import "testing"

// TestAccountViewsOfPreviousBuild opens a store from before there were views of other records. Its account views
// are views of accounts at both paths, and their names are still taken.
func TestAccountViewsOfPreviousBuild(t *testing.T) {
	dir, keys := unpackPreviousBuild(t)
	p := openPreviousBuild(t, dir, keys)
	for _, path := range []string{"/v1/account-views", "/v1/views"} {
		views := p.acme.records(path+"/list", "")
		if len(views) != 1 {
			t.Errorf("%s has %d views", path, len(views))
		}
		for _, view := range views {
			columns, has := view["columns"].([]any)
			if view["entity"] != "accounts" || view["name"] != "Large" || view["sort"] != nil || !has || len(columns) != 0 {
				t.Errorf("%s has %v", path, view)
			}
		}
		p.acme.Post(path, `{"name": "LARGE"}`).Fails(409, "view_name_taken", "")
	}
	p.acme.Post("/v1/views", `{"entity": "contacts", "name": "Large"}`).Is(201)
	p.checked(t, "after a view of contacts was created")
}
