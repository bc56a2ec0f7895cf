package tam_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// picture returns all Accounts and Contacts of an organization without ids and times. Contacts
// contain the names of their Accounts.
func picture(t *testing.T, o *apptest.Org) string {
	t.Helper()
	var lines []string
	names := map[any]any{}
	for _, entity := range []string{"accounts", "contacts"} {
		for _, r := range apptest.Exported(t, o, entity) {
			if entity == "accounts" {
				names[r["id"]] = r["name"]
			} else {
				r["account_id"] = names[r["account_id"]]
			}
			for _, key := range []string{"id", "created_at", "updated_at"} {
				delete(r, key)
			}
			lines = append(lines, fmt.Sprint(entity, r))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestImportCut interrupts an Import at each of its writes, once or repeatedly, with and without a
// restart. It ends like an uninterrupted one, and its reported progress is correct at every
// interruption.
func TestImportCut(t *testing.T) {
	d := newInterruptFixture(t)
	begin := func(name string) (operation string) {
		d.org, d.w.Rand = d.Org(name), rand.New(rand.NewPCG(1, 2)) // so that all are equal
		d.crm = d.w.crm(d.org)
		limit(t, d.App, d.org, 100_000, 100_000)
		p := d.ask(nil)
		d.Work()
		return apptest.AcceptImport(d.org, strings.TrimPrefix(p.path, apptest.PreviewsPath+"/"))
	}
	// stopped compares an interrupted Import with the stored records.
	stopped := func(operation string) (done bool) {
		t.Helper()
		res := d.org.Read.Get(apptest.ImportsPath + operation).Is(200)
		status, n := res.Text("data.status"), 0
		for _, r := range apptest.Exported(t, d.org, "accounts") {
			if r["source"] == "tam_import" {
				n++
			}
		}
		if got := res.Int("data.accounts.created"); got != n {
			t.Errorf("%s reports %d accounts, but there are %d", res.Body, got, n)
		}
		if (status == "accepted") != (apptest.ImportCounts(res) == "0 0 0, 0 0 0") || (status == "completed") != (res.Value("data.progress").(float64) == 1) {
			t.Errorf("%s", res.Body)
		}
		return status == "completed"
	}
	operation := begin("Left")
	d.Work()
	counts, want, left := apptest.ImportedAs(t, d.org, operation), picture(t, d.org), balance(d.org, "")
	if strings.HasPrefix(counts, "0 ") || strings.Contains(counts, " 0 ") || strings.Count(want, "\n") < 2000 {
		t.Fatalf("%s, of %d records", counts, strings.Count(want, "\n"))
	}
	cuts, step := 0, 1
	if apptest.RaceDetector {
		step = 2
	}
	for write := 1; ; write += step {
		operation := begin(fmt.Sprintf("Cut %d", write))
		d.workUntil(write)
		if stopped(operation) {
			break
		}
		cuts++
		d.finish(write)
		if got := apptest.ImportedAs(t, d.org, operation); got != counts || balance(d.org, "") != left {
			t.Errorf("write %d: %s and %s, want %s and %s", write, got, balance(d.org, ""), counts, left)
		}
		if picture(t, d.org) != want {
			t.Errorf("write %d: the records differ from those of an uninterrupted Import", write)
		}
	}
	if cuts < 3 && step == 1 { // two in the middle, and the one before the first
		t.Errorf("unexpected number of writes: %d", cuts)
	}
	t.Logf("%d cuts, %s, %s", cuts, counts, left)
	if log := d.Log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the log contains %s", log)
	}
}
