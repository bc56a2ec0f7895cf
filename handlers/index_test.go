package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/store"
)

// indexed returns an organization with enough contacts that its lists use an index.
func indexed(t *testing.T, a *apptest.App, n int) *apptest.Org {
	t.Helper()
	org := a.Org("Large")
	for made := 0; made < n; made += 500 {
		err := a.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
			for i := range 500 {
				_, err := a.CRM.Contacts.Create(tx, record.NewDraft[crm.Contact](apptest.Body(t, map[string]any{
					"first_name": fmt.Sprintf("Ann%d", i%7), "last_name": fmt.Sprintf("Smith %d", (made+i)%97), "title": []string{"VP Sales", "Director"}[i%2],
				})))
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Index.Flush(); err != nil {
		t.Fatal(err)
	}
	return org
}

// TestListsOfMany tests the guarantees of a list over HTTP with an index.
func TestListsOfMany(t *testing.T) {
	a := apptest.New(t)
	org := indexed(t, a, 2500)
	total := func(body string, want int) {
		t.Helper()
		var got struct {
			Pagination struct {
				TotalCount int `json:"total_count"`
			}
		}
		if err := json.Unmarshal(org.Read.Post("/v1/contacts/list", json.RawMessage(body)).Body, &got); err != nil || got.Pagination.TotalCount != want {
			t.Errorf("%s: total_count = %d, want %d (error %v)", body, got.Pagination.TotalCount, want, err)
		}
	}
	total(`{}`, 2500)
	total(`{"page": 51}`, 2500)
	if got := org.Read.Get("/v1/indexes").Is(200).Value("data"); !apptest.EqualsJSON(got, `[{"entity": "contacts", "building": false, "indexed_records": 2500, "records": 2500}]`) {
		t.Errorf("the indexes are %v", got)
	}
	total(`{"filters": [{"field": "title", "condition": "contains", "value": "p s"}]}`, 1250)
	total(`{"filters": [{"field": "title", "condition": "is_not", "value": "Director"}], "search": "ann1"}`, 180)
	total(`{"search": "s"}`, 2500)
	total(`{"search": "smi ann1"}`, 360)
	total(`{"filters": [{"field": "notes", "condition": "contains", "value": "the fair"}]}`, 0)
	made := org.Write.Post("/v1/contacts", map[string]any{"first_name": "Zoe", "last_name": "Zuse", "notes": "Met at THE  Fair. Met at the fair!"}).ID()
	total(`{"filters": [{"field": "notes", "condition": "contains", "value": "the fair"}], "search": "zoe"}`, 1)
	a.Restart()
	total(`{"filters": [{"field": "notes", "condition": "contains", "value": "the fair"}], "search": "zoe"}`, 1)
	// The newest record is first, whether or not the index has it.
	if first := org.Read.Post("/v1/contacts/list", `{"page_size": 1}`).Is(200).Text("data.0.id"); first != made {
		t.Errorf("%s comes before the newest record", first)
	}
	org.Write.Delete("/v1/contacts/" + made)
	total(`{"search": "zoe"}`, 0)
	total(`{}`, 2500)
}

// TestWritersAndReaders runs 16 writers and 16 readers concurrently over HTTP. A list contains
// every change that was acknowledged before it, and nothing that does not match.
func TestWritersAndReaders(t *testing.T) {
	a := apptest.New(t)
	org := indexed(t, a, 2500)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	call := func(method, path string, body string) (data []map[string]any) {
		req, err := http.NewRequest(method, a.URL+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return nil
		}
		req.Header.Set("Authorization", "Bearer "+org.Write.Key)
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return nil
		}
		defer res.Body.Close()
		var answer bytes.Buffer
		if _, err := answer.ReadFrom(res.Body); err != nil || res.StatusCode >= 300 {
			t.Errorf("%s %s: %s %s", method, path, res.Status, answer.String())
			return nil
		}
		if method == http.MethodDelete {
			return nil
		}
		var many struct{ Data []map[string]any }
		var one struct{ Data map[string]any }
		if json.Unmarshal(answer.Bytes(), &many) == nil {
			return many.Data
		} else if err := json.Unmarshal(answer.Bytes(), &one); err != nil {
			t.Error(err)
		}
		return []map[string]any{one.Data}
	}
	titled := func(title string) int {
		return len(call("POST", "/v1/contacts/list", fmt.Sprintf(`{"filters": [{"field": "title", "condition": "is", "value": %q}]}`, title)))
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range 16 {
		writers.Go(func() {
			for i := range 6 {
				title := fmt.Sprintf("VP of %d %d", w, i)
				made := call("POST", "/v1/contacts", fmt.Sprintf(`{"first_name": "W", "last_name": "X", "title": %q}`, title))
				if len(made) != 1 || titled(title) != 1 {
					t.Errorf("%s was created but is not listed", title)
					return
				}
				path := fmt.Sprint("/v1/contacts/", made[0]["id"])
				call("PATCH", path, fmt.Sprintf(`{"title": "Head %d %d"}`, w, i))
				if titled(title) != 0 || titled(fmt.Sprintf("Head %d %d", w, i)) != 1 {
					t.Errorf("%s was changed but the list shows the old version", title)
				}
				call("DELETE", path, "")
				if titled(fmt.Sprintf("Head %d %d", w, i)) != 0 {
					t.Errorf("%s was deleted but is still listed", title)
				}
			}
		})
		readers.Go(func() {
			for page := 1; ; page++ {
				select {
				case <-done:
					return
				default:
				}
				body := fmt.Sprintf(`{"filters": [{"field": "title", "condition": "contains", "value": "VP"}], "sort": "-last_name", "page": %d, "page_size": 100}`, 1+page%12)
				last := ""
				for _, c := range call("POST", "/v1/contacts/list", body) {
					name, _ := c["last_name"].(string)
					if title, _ := c["title"].(string); !strings.Contains(title, "VP") || last != "" && strings.ToLower(name) > last {
						t.Errorf("page %d lists %s %s after %s", page, title, name, last)
					}
					last = strings.ToLower(name)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}
