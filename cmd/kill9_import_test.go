package cmd_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// An import writes rows in batches of a thousand. The last of these rows are never written
	// while the input continues.
	pipedRows = 5500
	// After so many rows some thousands are in the store. The rest is larger than all buffers in
	// between.
	pipedBefore = 5000
)

// pipedRow returns a row of sufficient length with the columns email, title, notes and external_id.
func pipedRow(i int) string {
	return fmt.Sprintf("p%d@x.example,VP %d,%s,x%d\n", i, i, pipedNotes(i), i)
}

func pipedNotes(i int) string { return fmt.Sprintf("notes of %d %s end", i, strings.Repeat("-", 400)) }

// partialImport starts an import whose input does not end. In the middle of the rows it calls cut,
// which ends the command or the server.
func (d *acmePlace) partialImport(cut func(running *os.Process)) result {
	d.t.Helper()
	r := result{t: d.t, what: "an import that was cut off"}
	from, to, err := os.Pipe()
	if err != nil {
		d.t.Fatal(err)
	}
	defer to.Close()
	stdout, stderr := newOutput(), newOutput()
	c := d.command("import", "contacts", "-", "--org", "Acme")
	c.Stdin, c.Stdout, c.Stderr = from, stdout, stderr
	err = c.Start()
	from.Close()
	if err != nil {
		d.t.Fatal(err)
	}
	late := time.AfterFunc(waitTimeout, func() { _ = c.Process.Kill() })
	written := 0
	for _, err = io.WriteString(to, "email,title,notes,external_id\n"); err == nil && written < pipedRows; written++ {
		if written == pipedBefore {
			cut(c.Process)
		}
		_, err = io.WriteString(to, pipedRow(written))
	}
	if written < pipedBefore {
		d.t.Errorf("the import ended after %d rows: %v", written, err)
	}
	_ = c.Wait() // the exit status is checked instead
	if !late.Stop() {
		d.t.Fatalf("the import does not exit: %s", stderr)
	}
	r.stdout, r.stderr, r.status = stdout.String(), stderr.String(), c.ProcessState.ExitCode()
	return r
}

// kept counts the contacts of a partial import. They must equal the first rows of the file.
func (d *acmePlace) kept() int {
	d.t.Helper()
	var contacts []struct {
		Email, Title, Notes, Source string
		ExternalID                  string `json:"external_id"`
	}
	if err := json.Unmarshal([]byte(d.exported(d.org, "contacts")), &contacts); err != nil {
		d.t.Fatal(err)
	}
	for i, c := range contacts {
		if row := fmt.Sprintf("%s,%s,%s,%s\n", c.Email, c.Title, c.Notes, c.ExternalID); row != pipedRow(i) || c.Source != "csv" {
			d.t.Fatalf("contact %d is %+v", i, c)
		}
	}
	return len(contacts)
}

// completeImport imports the whole file after a partial import.
func (d *acmePlace) completeImport() {
	d.t.Helper()
	kept := d.kept()
	if kept == 0 || kept >= pipedRows {
		d.t.Fatalf("%d of %d rows were kept", kept, pipedRows)
	}
	d.t.Logf("%d of %d rows were kept", kept, pipedRows)
	d.passesCheck()
	if raceDetector && d.s == nil { // the race detector already covers this with a server
		return
	}
	rows := []string{"email,title,notes,external_id\n"}
	for i := range pipedRows {
		rows = append(rows, pipedRow(i))
	}
	d.imports("contacts", strings.Join(rows, ""), "--match-on", "email").
		says(fmt.Sprintf("Imported contacts: %d added, %d updated, 0 skipped\n", pipedRows-kept, kept))
	if n := d.kept(); n != pipedRows {
		d.t.Errorf("got %d contacts, want %d", n, pipedRows)
	}
	d.passesCheck()
}

// endedEarly checks that the import ended for the reason, and returns how many rows it reports as
// kept.
func (r result) endedEarly(reason string) (kept int) {
	r.t.Helper()
	match := regexp.MustCompile(`^prospector: the import stopped early: (.*); (\d+) rows were added and 0 updated before and are kept\n$`).FindStringSubmatch(r.stderr)
	if r.status != 1 || match == nil || match[1] != reason || !strings.Contains(r.stdout, match[2]) {
		r.t.Fatalf("%+v", r)
	}
	kept, err := strconv.Atoi(match[2])
	if err != nil {
		r.t.Fatal(err)
	}
	return kept
}

// TestKill9Import kills the command during an import. Only complete rows are kept, and repeating
// the import adds the rest.
func TestKill9Import(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		r := d.partialImport(func(running *os.Process) { _ = running.Kill() })
		if r.status != -1 || r.stdout != "" || r.stderr != "" {
			t.Errorf("%+v", r)
		}
		if d.s != nil {
			d.s.await(d.s.stderr, regexp.MustCompile(`msg="import stopped early"`))
		}
		d.completeImport()
	})
}

// TestKill9ImportServer kills the server during an import. The command reports it.
func TestKill9ImportServer(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	d.partialImport(func(*os.Process) { d.s.kill() }).fails(1, "the server stopped before it responded", "what it had done before is kept")
	d.s = nil
	d.completeImport()
}

// TestShutdownWhileImporting checks that a stopping server does not wait for the end of an import.
// The rows imported so far are kept and reported.
func TestShutdownWhileImporting(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	r := d.partialImport(func(*os.Process) { d.s.signal(syscall.SIGTERM) })
	asked := time.Now()
	d.s.ends(0)
	if took := time.Since(asked); took > shutdownLimit {
		t.Errorf("the server took %v to stop", took)
	}
	d.s.hasNoErrors()
	d.s = nil
	if n := r.endedEarly("the server is shutting down"); n == 0 || n != d.kept() {
		t.Errorf("%d contacts were kept, but the command reports %d", d.kept(), n)
	}
	d.passesCheck()
}

// TestImportCutShort checks that all rows before the unexpected end of a truncated file are kept
// and reported.
func TestImportCutShort(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		rows := []string{"email,title,notes,external_id\n"}
		for i := range 1500 {
			rows = append(rows, pipedRow(i))
		}
		whole := zipped(strings.Join(rows, ""))
		r := d.imports("contacts", whole[:len(whole)-len(whole)/20], "--json")
		if n := r.endedEarly("truncated: unexpected EOF"); n != d.kept() || n < 1000 || n >= 1500 {
			t.Errorf("%d contacts were kept, but the command reports %d", d.kept(), n)
		}
		if want := `"failed": "truncated: unexpected EOF"`; !strings.Contains(r.stdout, want) {
			t.Errorf("%s\ndoes not contain %s", r.stdout, want)
		}
		d.imports("contacts", whole, "--match-on", "external_id").withoutProgress()
		if n := d.kept(); n != 1500 {
			t.Errorf("got %d contacts, want 1500", n)
		}
		d.passesCheck()
	})
}
