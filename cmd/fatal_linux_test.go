package cmd

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

const brokenDisk = "PROSPECTOR_TEST_BROKEN_DISK"

// TestABrokenDiskEndsTheProcess runs a child process whose store file can no longer be written, for a
// reason other than a full disk. The state on disk is unknown then, so the process must log one line
// and end, and the pending write must not report success.
func TestABrokenDiskEndsTheProcess(t *testing.T) {
	if dir := os.Getenv(brokenDisk); dir != "" {
		breakTheDisk(dir)
		return
	}
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.timeout", "1m")
	child.Env = append(os.Environ(), brokenDisk+"="+t.TempDir())
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	err := child.Run()
	_, said, _ := strings.Cut(strings.TrimSpace(out.String()), "\n") // after the line about the new store
	if child.ProcessState.ExitCode() != exitFailure || !strings.Contains(said, "the process ends: the outcome of a commit is unknown") ||
		!strings.Contains(said, "a commit to") || strings.Contains(said, "\n") {
		t.Errorf("%v\n%s", err, said)
	}
}

// breakTheDisk replaces the file descriptor of the store by a read-only one.
func breakTheDisk(dir string) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	slog.SetDefault(log)
	s, err := service.Open(service.Config{DataDir: dir}, service.Options{Log: log, Fatal: fatal})
	must(err)
	create := func(name string) error {
		v, err := shape.ParseObject([]byte(`{"name": "` + name + `"}`))
		must(err)
		_, err = s.Identity.CreateOrganization(context.Background(), store.Actor{Operation: "test"}, v)
		return err
	}
	// The first commit grows the file. A failure there has a known outcome, because nothing is written.
	must(create("First"))
	file, err := filepath.EvalSymlinks(filepath.Join(dir, "prospector.db"))
	must(err)
	readOnly, err := os.Open(file)
	must(err)
	links, err := filepath.Glob("/proc/self/fd/*")
	must(err)
	for _, link := range links {
		var fd int
		for _, digit := range filepath.Base(link) {
			fd = fd*10 + int(digit-'0')
		}
		if to, err := os.Readlink(link); err == nil && to == file && fd != int(readOnly.Fd()) {
			must(syscall.Dup3(int(readOnly.Fd()), fd, syscall.O_CLOEXEC))
		}
	}
	err = create("Acme")
	os.Stderr.WriteString("it was answered\n")
	must(err)
	os.Exit(0)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
