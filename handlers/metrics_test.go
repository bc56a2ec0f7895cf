package handlers_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

func requests(operation string, status int) string {
	return fmt.Sprintf(`prospector_http_request_duration_seconds_count{operation="%s",status="%d"}`, operation, status)
}

// TestMetricsAreWellFormed checks names, units and help texts against the Prometheus conventions,
// and that the metrics contain no data of organizations.
func TestMetricsAreWellFormed(t *testing.T) {
	app := apptest.New(t, limited(5))
	org := app.Org("Umbrella")
	org.Write.Post("/v1/contacts", `{"email": "bill@initech.example"}`).Is(201)
	org.Write.Post("/v1/contacts", `{"titel": "VP"}`).Is(422)
	org.Read.Post("/v1/contacts/list", `{}`).Is(200)
	org.Read.Get("/v1/nothing").Is(404)
	org.Read.Get("/v1/contacts/" + org.ID.String()).Is(404)
	org.Read.Get("/v1/me").Is(429)
	app.Anonymous().Get("/v1/me").Is(401)
	app.Anonymous().Get("/no/such/path").Is(404)
	res := app.Anonymous().Get("/metrics").Is(200)
	if got := res.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain; version=0.0.4") {
		t.Errorf("unexpected content type %q", got)
	}
	problems, err := promlint.New(bytes.NewReader(res.Body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, secret := range []string{org.ID.String(), org.User.String(), org.Read.Key, "Umbrella", "umbrella", "initech", "such"} {
		if bytes.Contains(res.Body, []byte(secret)) {
			t.Errorf("the metrics have %q in them", secret)
		}
	}
	for _, name := range []string{"go_goroutines ", "process_start_time_seconds ", "process_resident_memory_bytes ", "prospector_build_info{"} {
		if !bytes.Contains(res.Body, []byte("\n"+name)) {
			t.Errorf("the metrics have no %s", name)
		}
	}
}

func TestMetricsOfRequests(t *testing.T) {
	app := apptest.New(t, limited(8))
	org := app.Org("Acme")
	before := apptest.Scrape(t, app)
	id := ""
	for i := range 3 {
		id = org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "%d@initech.example"}`, i)).Is(201).ID()
	}
	org.Write.Post("/v1/contacts", `{"titel": "VP"}`).Is(422)
	org.Read.Get("/v1/contacts/" + id).Is(200)
	org.Read.Do(http.MethodHead, "/v1/contacts/"+id, nil).Is(200)
	org.Read.Get("/v1/nothing").Is(404)
	org.Read.Do(http.MethodPut, "/v1/contacts", nil).Is(405)
	for range 2 {
		org.Read.Get("/v1/me").Is(429)
	}
	for range 4 {
		app.Anonymous().Get("/v1/me").Is(401)
	}
	app.Anonymous().Get("/healthz").Is(200)
	after := apptest.Scrape(t, app)
	up := after.Since(before)
	up.Has(t, apptest.Sample{
		requests("create_contact", 201):                  3,
		requests("create_contact", 422):                  1,
		requests("get_contact", 200):                     2,
		requests("get_health", 200):                      1,
		requests("none", 404):                            1,
		requests("none", 405):                            1,
		requests("none", 429):                            2,
		requests("none", 401):                            4,
		"prospector_http_rate_limited_total":             2,
		"prospector_http_keys_rejected_total":            4,
		"prospector_store_updates_total":                 3,
		"prospector_store_commit_failures_total":         0,
		"prospector_store_disk_full":                     0,
		"prospector_store_out_of_place":                  0,
		"prospector_store_commit_duration_seconds_count": 3,
		`prospector_http_request_duration_seconds_bucket{operation="create_contact",status="201",le="+Inf"}`: 3,
	})
	if sum := up[`prospector_http_request_duration_seconds_sum{operation="create_contact",status="201"}`]; sum <= 0 || sum > 60 {
		t.Errorf("implausible duration of three requests: %v seconds", sum)
	}
	if size, free := after["prospector_store_file_bytes"], after["prospector_store_free_bytes"]; size < 32<<10 || free < 0 || free > size {
		t.Errorf("implausible disk figures: %v of %v bytes free", free, size)
	}
}

// TestMetricsOfJobs has a cleanup of many records, which is due immediately, and a job that is due
// later.
func TestMetricsOfJobs(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tag := org.Write.Post("/v1/tags", `{"name": "Champion", "color": "green", "object_type": "contact"}`).Is(201).ID()
	var records []any
	for i := range 600 {
		records = append(records, map[string]any{"email": fmt.Sprintf("%d@initech.example", i), "tags": []string{tag}})
	}
	org.Write.Post("/v1/contacts/batch", map[string]any{"records": records}).Is(200)
	err := app.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		_, err := tx.Enqueue("unheard of", tx.Now().Add(time.Hour), nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const runs = "prospector_job_duration_seconds_count"
	jobs := func(waiting, due, late, done, failed float64) {
		t.Helper()
		apptest.Scrape(t, app).Has(t, apptest.Sample{
			"prospector_jobs_waiting":                  waiting,
			"prospector_jobs_due":                      due,
			"prospector_jobs_oldest_due_seconds":       late,
			"prospector_jobs_running":                  0,
			runs + `{kind="sweep",outcome="done"}`:     done,
			runs + `{kind="sweep",outcome="failed"}`:   0,
			runs + `{kind="unknown",outcome="failed"}`: failed,
		})
	}
	jobs(1, 0, 0, 0, 0)
	org.Write.Delete("/v1/tags/" + tag).Is(204)
	jobs(4, 1, 0, 0, 0) // and those that empty the trash and forget the operation
	app.Clock.Advance(90 * time.Second)
	jobs(4, 1, 90, 0, 0)
	app.Work()
	jobs(3, 0, 0, 1, 0)
	app.Clock.Advance(time.Hour)
	jobs(3, 2, 90, 1, 0)
	app.Work() // it is postponed
	jobs(3, 0, 0, 1, 1)
}

// TestMetricsOfTheIndex writes until it has observed an index that is behind, which is the case
// briefly after every write.
func TestMetricsOfTheIndex(t *testing.T) {
	app := apptest.New(t)
	org := indexed(t, app, 2500)
	behind := func() apptest.Sample {
		for range 100 {
			org.Write.Post("/v1/contacts", `{"first_name": "Zoe", "last_name": "Zuse"}`).Is(201)
			app.Clock.Advance(7 * time.Second)
			if s := apptest.Scrape(t, app); s["prospector_index_lag_changes"] > 0 {
				return s
			}
		}
		t.Fatal("the index is never behind")
		return nil
	}()
	lag := behind["prospector_index_lag_changes"]
	behind.Has(t, apptest.Sample{"prospector_index_max_lag_changes": lag, "prospector_index_oldest_lag_seconds": 7 * lag})
	if behind["prospector_index_dirty"] < 1 {
		t.Error("no index is dirty")
	}

	if err := app.Index.Flush(); err != nil {
		t.Fatal(err)
	}
	org.Read.Post("/v1/contacts/list", `{"sort": "last_name"}`).Is(200)
	settled := apptest.Scrape(t, app)
	settled.Has(t, apptest.Sample{
		"prospector_index_lag_changes": 0, "prospector_index_max_lag_changes": 0, "prospector_index_oldest_lag_seconds": 0,
		"prospector_index_building": 0, "prospector_index_unindexed_records": 0, "prospector_index_open": 1, "prospector_index_cache_limit_bytes": 64 << 20,
		"prospector_index_builds_total": 1, "prospector_index_damaged_total": 0, "prospector_index_failures_total": 0,
	})
	if used := settled["prospector_index_cache_bytes"]; used < 2500*16 || used > 64<<20 {
		t.Errorf("implausible size of the index cache: %v bytes", used)
	}
	if _, err := app.Index.Reindex(t.Context(), func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	apptest.Scrape(t, app).Since(settled).Has(t, apptest.Sample{"prospector_index_builds_total": 1, "prospector_index_damaged_total": 0})
}

// TestMetricsElsewhere checks that metrics with a separate address are served only there, and that
// nothing else is.
func TestMetricsElsewhere(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.MetricsAddr = "127.0.0.1:0" })
	app.Anonymous().Get("/metrics").Fails(404, "not_found", "")
	if doc := app.Anonymous().Get("/openapi.json").Is(200); bytes.Contains(doc.Body, []byte("get_metrics")) {
		t.Error("the API document contains the metrics endpoint")
	}
	app.Anonymous().Get("/healthz").Is(200)
	get := func(method, path string, status int) *httptest.ResponseRecorder {
		t.Helper()
		w := httptest.NewRecorder()
		app.API.Metrics().ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != status {
			t.Errorf("%s %s: %d", method, path, w.Code)
		}
		return w
	}
	w := get(http.MethodGet, "/metrics", 200)
	if !strings.Contains(w.Body.String(), requests("get_health", 200)+" 1\n") || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	for _, path := range []string{"/", "/v1/me", "/healthz", "/openapi.json", "/metrics/"} {
		get(http.MethodGet, path, 404)
	}
	get(http.MethodPost, "/metrics", 405)
}
