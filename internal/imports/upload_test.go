package imports_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/imports"
	"prospector/store"
)

// startUpload sends the beginning of an import with its options first, and waits until the import is there.
func startUpload(t *testing.T, app *apptest.App, org *apptest.Org) (conn net.Conn, id string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(app.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(conn, "POST /v1/imports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+org.Write.Key+"\r\nContent-Length: 100000\r\n"+
		"Content-Type: multipart/form-data; boundary=b\r\n\r\n"+
		"--b\r\nContent-Disposition: form-data; name=\"options\"\r\n\r\n{\"entity\": \"contacts\"}\r\n"+
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"people.csv\"\r\n\r\nemail\nada@x.example\n")
	if err != nil {
		t.Fatal(err)
	}
	return conn, await(t, org, "running")
}

// await waits until the organization has an import with the status, and returns its id.
func await(t *testing.T, org *apptest.Org, status string) string {
	t.Helper()
	for late := time.Now().Add(apptest.Timeout); time.Now().Before(late); {
		got := org.Read.Post(path+"/list", `{"filters": [{"field": "status", "condition": "is", "value": "`+status+`"}]}`).Is(200)
		if got.Int("pagination.total_count") == 1 {
			return got.Text("data.0.id")
		}
	}
	t.Fatalf("no import is %s", status)
	return ""
}

// TestDisconnect ends an upload in the middle.
func TestDisconnect(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	conn, id := startUpload(t, app, org)
	app.Work() // the job waits for the upload
	if got := org.Read.Get(path + "/" + id).Is(200).Text("data.status"); got != "running" {
		t.Errorf("the import is %s during its upload", got)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if failed := await(t, org, "failed"); failed != id {
		t.Errorf("%s failed, not %s", failed, id)
	}
	got := org.Read.Get(path + "/" + id).Is(200)
	if !strings.Contains(got.Text("data.failure_reason"), "the upload was not completed") || counts(got) != "0 0 0 0" {
		t.Errorf("%s", got.Body)
	}
	app.Clock.Advance(time.Hour)
	app.Work()
	left := files(t, app)
	for late := time.Now().Add(apptest.Timeout); len(left) > 0 && time.Now().Before(late); { // it goes just after the import has failed
		left = files(t, app)
	}
	if len(left) > 0 {
		t.Errorf("the files %v are left", left)
	}
}

// TestCancelUpload cancels an import during its upload.
func TestCancelUpload(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	conn, id := startUpload(t, app, org)
	defer conn.Close()
	org.Write.Post(path+"/"+id+"/cancel", nil).Is(200)
	rest := strings.Repeat("ada@x.example\n", 7000)
	end := "\r\n--b--\r\n"
	sent := 100000 - len("--b\r\nContent-Disposition: form-data; name=\"options\"\r\n\r\n{\"entity\": \"contacts\"}\r\n"+
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"people.csv\"\r\n\r\nemail\nada@x.example\n")
	rest += strings.Repeat("\n", sent-len(rest)-len(end)) + end
	if _, err := io.WriteString(conn, rest); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 12)
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 202" {
		t.Errorf("%q, %v", answer, err)
	}
	app.Work()
	if got := org.Read.Get(path + "/" + id).Is(200); got.Text("data.status") != "cancelled" || counts(got) != "0 0 0 0" {
		t.Errorf("%s", got.Body)
	}
}

// begin registers an import of the organization, as an upload does whose process is then killed.
func begin(t *testing.T, app *apptest.App, org *apptest.Org) (id string) {
	t.Helper()
	u, err := app.Imports.NewUpload(org.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Register(t.Context(), store.Actor{}, imports.FileImportBody{Entity: "contacts"}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(u, "email\nada@x.example\n"); err != nil {
		t.Fatal(err)
	}
	return u.ID().String()
}

// TestKilledUpload starts the service after it was killed during an upload.
func TestKilledUpload(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	first := begin(t, app, org)
	app.Crash()
	app.Start()
	if left := files(t, app); len(left) > 0 {
		t.Errorf("the files %v are left", left)
	}
	if got := org.Read.Get(path + "/" + first).Is(200); got.Text("data.status") != "failed" {
		t.Errorf("%s", got.Body)
	}
	// A restored store has no files.
	second := begin(t, app, org)
	app.Crash()
	if err := os.RemoveAll(app.Config.ImportDir()); err != nil {
		t.Fatal(err)
	}
	app.Start()
	app.Clock.Advance(time.Minute)
	app.Work()
	if got := org.Read.Get(path + "/" + second).Is(200); got.Text("data.status") != "failed" {
		t.Errorf("%s", got.Body)
	}
	// Files that no import needs are removed. Others are not ours.
	if err := os.MkdirAll(app.Config.ImportDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{org.ID.String() + "." + uuid.NewString(), uuid.NewString() + "." + first, "readme"} {
		if err := os.WriteFile(app.Config.ImportDir()+"/"+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	app.Restart()
	if left := files(t, app); fmt.Sprint(left) != "[readme]" {
		t.Errorf("the files are %v", left)
	}
}

// TestPostpone stops an import that runs in the foreground, as a stopping server does. Its job imports nothing more in this
// process, and the next one continues it at once.
func TestPostpone(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	u, err := app.Imports.NewUpload(org.ID)
	if err != nil {
		t.Fatal(err)
	}
	options := imports.FileImportBody{Entity: "contacts"}
	if err := u.Register(t.Context(), store.Actor{}, options); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(u, people(5000)); err != nil {
		t.Fatal(err)
	}
	checked, err := u.Check(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	batches := 0
	err = u.Run(ctx, checked, func(float64) {
		if batches++; batches == 2 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the import ended with %v", err)
	}
	if err := errors.Join(u.Postpone(t.Context()), u.Discard(t.Context()), u.Close()); err != nil {
		t.Fatal(err)
	}
	before := org.Read.Get(path + "/" + u.ID().String()).Is(200)
	if n := strings.Count(string(before.Body), `"first_line"`); counts(before) != "2000 1800 0 200" || n != 201 {
		t.Errorf("%s has %d problems", counts(before), n)
	}
	stopping, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	app.Worker.Once(stopping)
	if now := org.Read.Get(path + "/" + u.ID().String()).Is(200); string(now.Body) != string(before.Body) {
		t.Errorf("the import is now %s, it was %s", now.Body, before.Body)
	}
	app.Restart()
	app.Work()
	if got := org.Read.Get(path + "/" + u.ID().String()).Is(200); got.Text("data.status") != "completed" || counts(got) != "5000 4500 0 500" {
		t.Errorf("%s is %s", counts(got), got.Text("data.status"))
	}
}

// TestForget removes the files of a deleted organization.
func TestForget(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	form := apptest.NewForm("email\nada@x.example\n", `{"entity": "contacts"}`)
	org.Write.Post(path, form).Is(202)
	kept := other.Write.Post(path, form).Is(202).ID()
	if err := app.Imports.Forget(org.ID); err != nil {
		t.Fatal(err)
	}
	if left := files(t, app); fmt.Sprint(left) != "["+other.ID.String()+"."+kept+"]" {
		t.Errorf("the files are %v", left)
	}
}

// TestErase removes a person from the rejects and the problems.
func TestErase(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post(path, apptest.NewForm("email,notes,do_not_contact\nno address of Zoe Quint,a,\nnot one,\"b, c\",\nada@x.example,,Zoe Quint\n", `{"entity": "contacts", "mapping": {"do_not_contact": "do_not_contact"}}`)).Is(202).ID()
	asked := org.Write.Post(path, apptest.NewForm("email,do_not_contact\nada@x.example,Zoe Quint\n", `{"entity": "contacts"}`)).Is(202).ID()
	names := func(cells []string) bool { return strings.Contains(strings.Join(cells, "\n"), "Zoe Quint") }
	if _, err := app.Imports.Erase(t.Context(), org.ID, names); err == nil || !strings.Contains(err.Error(), "is running") {
		t.Errorf("while it runs: %v", err)
	}
	app.Work()
	if !strings.Contains(org.Dump(), "Zoe Quint") {
		t.Fatal("the rejects do not name the person")
	}
	org.Read.Get(path+"/"+asked).Has(200, `{"data": {"questions": [{"samples": ["Zoe Quint"]}]}}`)
	for _, want := range []int{4, 0} { // a row of the rejects, its dropped address, the dropped value of another row, and a sample of a question
		if n, err := app.Imports.Erase(t.Context(), org.ID, names); err != nil || n != want {
			t.Errorf("%d were erased, %v; want %d", n, err, want)
		}
	}
	if strings.Contains(org.Dump(), "Zoe Quint") {
		t.Error("the person is still there")
	}
	rejects := string(org.Read.Get(path + "/" + id + "/rejects").Is(200).Body)
	if !strings.Contains(rejects, "email,notes,do_not_contact,why skipped\n") || !strings.Contains(rejects, "not one,\"b, c\",,") {
		t.Errorf("%q", rejects)
	}
}
