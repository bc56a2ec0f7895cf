package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killedRows is the number of rows of a file whose import is interrupted. It takes many batches of a thousand.
const killedRows = 12_000

// importRow returns a row with the columns email, title, notes and external_id. Every tenth row is invalid.
func importRow(i int) string {
	if i%10 == 9 {
		return fmt.Sprintf("nobody %d,,%s,\n", i, strings.Repeat("-", 200))
	}
	return fmt.Sprintf("p%d@x.example,VP %d,%s,x%d\n", i, i, strings.Repeat("-", 200), i)
}

// importRows returns a file with n rows.
func importRows(n int) string {
	var b strings.Builder
	b.WriteString("email,title,notes,external_id\n")
	for i := range n {
		b.WriteString(importRow(i))
	}
	return b.String()
}

// fileImport is an import as the API returns it.
type fileImport struct {
	ID, Status                    string
	Rows, Added, Updated, Skipped int
	FailureReason                 string `json:"failure_reason"`
}

// formOf returns the body of an import over HTTP and its media type.
func formOf(t testing.TB, file, options string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, part := range [][2]string{{"options", options}, {"file", file}} {
		if err := w.WriteField(part[0], part[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

// upload starts the import of a file over HTTP.
func (s *server) upload(key, file, options string) fileImport {
	s.t.Helper()
	body, contentType := formOf(s.t, file, options)
	return s.importIn(s.do(202, key, "POST", "/v1/imports", body, "Content-Type", contentType))
}

func (s *server) importIn(r reply) fileImport {
	s.t.Helper()
	var answer struct{ Data fileImport }
	if err := json.Unmarshal(r.body, &answer); err != nil {
		s.t.Fatal(err)
	}
	return answer.Data
}

// importOf returns an import.
func (s *server) importOf(key, id string) fileImport {
	s.t.Helper()
	return s.importIn(s.do(200, key, "GET", "/v1/imports/"+id, ""))
}

// onlyImport returns the only import that there is, when it satisfies a condition.
func (s *server) onlyImport(key string, is func(fileImport) bool) (m fileImport) {
	s.t.Helper()
	for late := time.Now().Add(waitTimeout); time.Now().Before(late); {
		var list struct{ Data []fileImport }
		if err := json.Unmarshal(s.do(200, key, "POST", "/v1/imports/list", "{}").body, &list); err != nil {
			s.t.Fatal(err)
		}
		if len(list.Data) == 1 {
			if m = list.Data[0]; is(m) {
				return m
			}
		}
	}
	s.t.Fatalf("the import is %+v", m)
	return m
}

func (m fileImport) hasEnded() bool { return m.Status != "running" }
func (m fileImport) hasRows() bool  { return m.Rows > 0 }

// importedEmails returns the addresses of all contacts. No row may be imported twice.
func (d *acmePlace) importedEmails() int {
	d.t.Helper()
	var contacts []struct{ Email string }
	if err := json.Unmarshal([]byte(d.exported(d.org, "contacts")), &contacts); err != nil {
		d.t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range contacts {
		if seen[c.Email] {
			d.t.Errorf("%s was imported twice", c.Email)
		}
		seen[c.Email] = true
	}
	return len(contacts)
}

// TestKill9ImportRun kills the server while it imports a file that it has accepted. The import continues, its counts are
// exact, and no row is imported twice.
func TestKill9ImportRun(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	m := d.s.upload(d.key, importRows(killedRows), `{"entity": "contacts", "match_on": "none"}`)
	kills := 0
	for seen := 0; kills < soakRounds(t, 3); kills++ {
		m = d.s.onlyImport(d.key, func(m fileImport) bool { return m.Rows > seen || m.hasEnded() })
		d.s.kill()
		n := d.importedEmails() // by a command, while no server runs
		d.s = d.serve()
		if m.hasEnded() {
			break
		}
		if got := d.s.importOf(d.key, m.ID); got.Added < n {
			t.Errorf("%d contacts are in the store, but the import has %+v", n, got)
		}
		seen = m.Rows
	}
	t.Logf("killed %d times", kills)
	m = d.s.onlyImport(d.key, fileImport.hasEnded)
	if m.Status != "completed" || m.Rows != killedRows || m.Added != killedRows*9/10 || m.Skipped != killedRows/10 {
		t.Errorf("%+v", m)
	}
	rejects := string(d.s.do(200, d.key, "GET", "/v1/imports/"+m.ID+"/rejects", "").body)
	if n := strings.Count(rejects, "\n") - 1; n != killedRows/10 {
		t.Errorf("there are %d rejects", n)
	}
	if n := d.importedEmails(); n != m.Added {
		t.Errorf("there are %d contacts", n)
	}
	d.s.stop()
	d.passesCheck()
}

// pipedImport starts an import whose input does not end. When much of it was written, it calls cut, which ends the
// command or the server.
func (d *acmePlace) pipedImport(cut func(running *os.Process)) result {
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
	for _, err = io.WriteString(to, "email,title,notes,external_id\n"); err == nil && written < killedRows; written++ {
		if written == killedRows/2 {
			cut(c.Process)
		}
		_, err = io.WriteString(to, importRow(written))
	}
	if written < killedRows/2 {
		d.t.Errorf("the import ended after %d rows: %v", written, err)
	}
	_ = c.Wait() // the exit status is checked instead
	if !late.Stop() {
		d.t.Fatalf("the import does not exit: %s", stderr)
	}
	r.stdout, r.stderr, r.status = stdout.String(), stderr.String(), c.ProcessState.ExitCode()
	return r
}

// importsNothing checks that an import whose file was not complete has failed and left nothing.
func (d *acmePlace) importsNothing() {
	d.t.Helper()
	d.served(func(s *server) {
		m := s.onlyImport(d.key, fileImport.hasEnded)
		if m.Status != "failed" || m.hasRows() || !strings.Contains(m.FailureReason, "the upload was not completed") {
			d.t.Errorf("%+v", m)
		}
	})
	for late := time.Now().Add(waitTimeout); ; { // the file goes when the import has failed
		files, err := os.ReadDir(d.path("data", "imports"))
		if err == nil && len(files) == 0 {
			break
		}
		if err != nil || time.Now().After(late) {
			d.t.Fatalf("the files %v are left (%v)", files, err)
		}
	}
	if n := d.importedEmails(); n != 0 {
		d.t.Errorf("%d rows were imported", n)
	}
	d.passesCheck()
}

// TestKill9Upload kills the command before the end of its file.
func TestKill9Upload(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		r := d.pipedImport(func(running *os.Process) { _ = running.Kill() })
		if r.status != -1 || r.stdout != "" || r.stderr != "" {
			t.Errorf("%+v", r)
		}
		d.importsNothing()
	})
}

// TestKill9UploadServer kills the server before the end of a file. The command reports it.
func TestKill9UploadServer(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	d.pipedImport(func(*os.Process) { d.s.kill() }).fails(1, "the server stopped before it responded")
	d.s = nil
	d.importsNothing()
}

// TestInterruptedUpload interrupts the command before the end of its file.
func TestInterruptedUpload(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		d.pipedImport(func(running *os.Process) { _ = running.Signal(os.Interrupt) }).fails(1, "interrupted")
		d.importsNothing()
	})
}

// TestInterruptedInput interrupts an import that waits for standard input.
func TestInterruptedInput(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		from, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		c := d.command("import", "contacts", "-", "--org", "Acme")
		c.Stdin = from
		if err = c.Start(); err != nil {
			t.Fatal(err)
		}
		from.Close()
		late := time.AfterFunc(waitTimeout, func() { _ = c.Process.Kill() })
		if _, err := io.WriteString(to, "email\nada@x.example\n"); err != nil {
			t.Fatal(err)
		}
		for size, end := int64(0), time.Now().Add(waitTimeout); size == 0 && time.Now().Before(end); {
			files, _ := filepath.Glob(d.path("data", "imports", "*"))
			for _, file := range files {
				if info, err := os.Stat(file); err == nil {
					size += info.Size()
				}
			}
		}
		_ = c.Process.Signal(os.Interrupt)
		if _ = c.Wait(); !late.Stop() {
			t.Fatal("the import does not exit")
		}
		d.importsNothing()
	})
}

// TestShutdownDuringUpload checks that a stopping server does not wait for the end of a file.
func TestShutdownDuringUpload(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	r := d.pipedImport(func(*os.Process) { d.s.signal(syscall.SIGTERM) })
	asked := time.Now()
	d.s.ends(0)
	if took := time.Since(asked); took > shutdownLimit {
		t.Errorf("the server took %v to stop", took)
	}
	d.s = nil
	r.fails(1, "the server is shutting down")
	d.importsNothing()
}

// endedEarly checks that the import ended for the reason, and returns how many rows it reports as
// kept.
func (r result) endedEarly(reason string) (kept int) {
	r.t.Helper()
	match := regexp.MustCompile(`(?m)^prospector: the import stopped early: (.*); (\d+) rows were added and 0 updated before and are kept\n$`).FindStringSubmatch(r.stderr)
	if r.status != 1 || match == nil || match[1] != reason || !strings.Contains(r.stdout, match[2]) {
		r.t.Fatalf("%+v", r)
	}
	kept, err := strconv.Atoi(match[2])
	if err != nil {
		r.t.Fatal(err)
	}
	return kept
}

// whileImporting runs an import by the command, and calls stop when it has imported some rows.
func (d *acmePlace) whileImporting(stop func(running *os.Process)) result {
	d.t.Helper()
	r := result{t: d.t, what: "an import that is stopped"}
	d.write("rows", importRows(killedRows))
	stdout, stderr := newOutput(), newOutput()
	c := d.command("import", "contacts", "rows", "--org", "Acme", "--match-on", "none")
	c.Stdout, c.Stderr = stdout, stderr
	if err := c.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.s.onlyImport(d.key, fileImport.hasRows)
	stop(c.Process)
	_ = c.Wait() // the exit status is checked instead
	r.stdout, r.stderr, r.status = stdout.String(), stderr.String(), c.ProcessState.ExitCode()
	return r.withoutProgress()
}

// TestShutdownWhileImporting stops the server while it imports a file of the command. The import continues when the server
// starts again.
func TestShutdownWhileImporting(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	r := d.whileImporting(func(*os.Process) { d.s.signal(syscall.SIGTERM) })
	d.s.ends(0)
	d.s.hasNoErrors()
	if n := r.endedEarly("the server is shutting down"); n == 0 || n != d.importedEmails() {
		t.Errorf("%d contacts were kept, but the command reports %d", d.importedEmails(), n)
	}
	d.s = d.serve()
	if m := d.s.onlyImport(d.key, fileImport.hasEnded); m.Status != "completed" || m.Added != killedRows*9/10 || m.Skipped != killedRows/10 {
		t.Errorf("%+v", m)
	}
	d.s.stop()
	if n := d.importedEmails(); n != killedRows*9/10 {
		t.Errorf("there are %d contacts", n)
	}
	d.passesCheck()
}

// TestInterruptedImport interrupts the command while the server imports its file, which cancels the import.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	d.whileImporting(func(running *os.Process) { _ = running.Signal(os.Interrupt) }).fails(1, "interrupted")
	m := d.s.onlyImport(d.key, fileImport.hasEnded)
	if n := d.importedEmails(); m.Status != "cancelled" || m.Added != n || n == 0 {
		t.Errorf("%d contacts, %+v", n, m)
	}
	d.s.stop()
	d.s.hasNoErrors()
	d.passesCheck()
}

// TestImportCutShort checks that all batches before the unexpected end of a truncated file are kept and reported.
func TestImportCutShort(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		whole := zipped(importRows(1500))
		r := d.imports("contacts", whole[:len(whole)-len(whole)/20], "--json")
		const reason = "the file cannot be read to its end: truncated: unexpected EOF"
		if n := r.endedEarly(reason); n != d.importedEmails() || n < 900 || n >= 1350 {
			t.Errorf("%d contacts were kept, but the command reports %d", d.importedEmails(), n)
		}
		if want := `"failed": "` + reason + `"`; !strings.Contains(r.stdout, want) {
			t.Errorf("%s\ndoes not contain %s", r.stdout, want)
		}
		d.imports("contacts", whole, "--match-on", "external_id")
		if n := d.importedEmails(); n != 1350 {
			t.Errorf("got %d contacts, want 1350", n)
		}
		d.passesCheck()
	})
}
