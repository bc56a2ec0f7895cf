package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestCheckAndReindex runs check and reindex with and without a server.
func TestCheckAndReindex(t *testing.T) {
	bothWays(t, func(t *testing.T, p *place) {
		p.org("Acme")
		p.run("check").done().says(`^Checked 3 records, found 0 problems\n$`)
		p.run("check", "--json").done().prints(`{"ok": true, "records": 3, "problems": []}`)
		r := p.run("reindex").done()
		r.says(`^Indexed 3 records\n$`)
		if !strings.HasSuffix(r.progress, "\n3 of 3 records\n") {
			t.Errorf("the progress output is %q", r.progress)
		}
		p.run("reindex", "--json").done().prints(`{"records": 3}`)
		p.run("check", "now").fails(2, "takes no arguments")
	})
}

// done checks that the command succeeded. Progress on stderr is allowed.
func (r result) done() result {
	r.t.Helper()
	r.progress, r.stderr = r.stderr, ""
	return r.ok()
}

// TestCheckRepairs checks that check reports a damaged index and --repair rebuilds it.
func TestCheckRepairs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	org, _ := p.org("Acme")
	p.contacts(uuid.MustParse(org), 2500)
	p.run("reindex").done()
	spoil := func() {
		t.Helper()
		files, err := filepath.Glob(p.path("data", "index", org, "contacts", "*.zap"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)/2] ^= 1
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	spoil()
	if r := p.run("check"); r.status != 1 || !strings.Contains(r.stdout, "index of contacts of organization "+org+": the index is damaged: segments that are missing or do not match their checksums: 2\n") || !strings.Contains(r.stderr, "--repair") {
		t.Errorf("%d %s %s", r.status, r.stdout, r.stderr)
	}
	p.run("reindex").done()
	spoil()
	if r := p.run("check", "--repair", "--json"); r.status != 0 || !strings.Contains(r.stdout, `"ok": true`) || !strings.Contains(r.stdout, `"repaired": true`) {
		t.Errorf("%d %s %s", r.status, r.stdout, r.stderr)
	}
	p.run("check").done().says(`^Checked 2781 records, found 0 problems\n$`)
}
