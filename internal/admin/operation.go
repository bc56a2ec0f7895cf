// Package admin owns what the operator does: organizations, users and keys, imports, backups, checks.
// Each is one Operation, which runs inside the server through the admin socket or, if no server is
// running, directly on the store. The package must not know the command line: commands pass it
// settings and print its results.
package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prospector/internal/fault"
	"prospector/internal/service"
	"prospector/store"
)

// Operation is what a command does to the service. Exactly one of do, doLong and doFile is set.
type Operation[In, Out any] struct {
	// Unit is what the progress of the operation counts.
	Unit Unit

	name string
	do   func(context.Context, *service.Service, In) (Out, error)
	// doLong runs an operation that takes long enough to report its progress.
	doLong func(context.Context, *service.Service, In, Progress) (Out, error)
	// doFile runs an operation on a file, which is streamed because the server may not be able to open it.
	doFile func(context.Context, *service.Service, In, io.Reader, Progress) (Out, error)
	// reports says that doFile reports its progress. Otherwise it is how much of the file was read.
	reports bool
	// createsStore lets the operation create the store if it does not exist.
	createsStore bool
	// patience is how long the operation waits for other commands that have the store open. 0 means lockPatience.
	patience time.Duration
}

// lockPatience is how long an operation waits for a process that has the store open but does not answer, such as a server
// that starts.
const lockPatience = 5 * time.Second

// Caller is the command that runs an operation.
type Caller struct {
	Config   service.Config
	Progress Progress
	Fatal    func(error) // see service.Options
}

// Run runs the operation in the server, or directly on the store if no server is running.
func (op *Operation[In, Out]) Run(ctx context.Context, by Caller, in In) (Out, error) {
	return op.RunFile(ctx, by, in, nil, 0)
}

// RunFile is Run for an operation on a file. size is 0 if it is not known.
func (op *Operation[In, Out]) RunFile(
	ctx context.Context, by Caller, in In, file io.Reader, size int,
) (out Out, err error) {
	err = op.untyped().run(ctx, by, &in, &out, file, size)
	return out, err
}

// untyped returns the operation in the form that the client and the server work with. The compiler
// generates the methods of Operation for each type, so they must stay short.
func (op *Operation[In, Out]) untyped() operation {
	return operation{
		name: op.name, patience: cmp.Or(op.patience, lockPatience), createsStore: op.createsStore, isLong: op.do == nil, reports: op.reports,
		newData: func() (in, out any) { return new(In), new(Out) },
		perform: func(ctx context.Context, s *service.Service, input, output any, file io.Reader, report Progress) (err error) {
			in, out := input.(*In), output.(*Out)
			switch {
			case op.doLong != nil:
				*out, err = op.doLong(ctx, s, *in, report)
			case op.doFile != nil:
				*out, err = op.doFile(ctx, s, *in, file, report)
			default:
				*out, err = op.do(ctx, s, *in)
			}
			return err
		},
	}
}

// operation is an Operation on inputs and outputs of any type, which it takes as pointers.
type operation struct {
	name                 string
	patience             time.Duration
	createsStore, isLong bool
	reports              bool
	newData              func() (in, out any)
	perform              func(ctx context.Context, s *service.Service, in, out any, file io.Reader, report Progress) error
}

var (
	errNoServer    = errors.New("no server is running")
	errStopping    = errors.New("the server is shutting down")
	errInterrupted = errors.New("interrupted; what was done before is kept")
)

func (op operation) run(ctx context.Context, by Caller, in, out any, file io.Reader, size int) error {
	if file != nil {
		reader := &progressReader{Reader: file, size: size, report: by.Progress}
		unknown := func(int, int) {}
		if size == 0 {
			by.Progress = unknown
		}
		if op.reports {
			reader.report = unknown
		}
		file = reader
	}
	// A server may start or stop between the two attempts, so both are repeated while the store is locked.
	for deadline := time.Now().Add(op.patience); ; {
		err := op.ask(ctx, by.Config.DataDir, in, out, file, by.Progress)
		if errors.Is(err, errNoServer) {
			err = op.direct(ctx, by, in, out, file)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return errInterrupted
		case !errors.Is(err, store.ErrLocked) || time.Now().After(deadline):
			return err
		}
	}
}

// direct runs the operation on the store.
func (op operation) direct(ctx context.Context, by Caller, in, out any, file io.Reader) error {
	dir := by.Config.DataDir
	if _, err := os.Stat(filepath.Join(dir, store.FileName)); errors.Is(err, os.ErrNotExist) && !op.createsStore {
		return fmt.Errorf("there is no store in %s; create one with 'prospector org create', or choose another directory with --data-dir", dir)
	}
	log := slog.New(service.NewLogHandler(os.Stderr, "text", slog.LevelWarn))
	slog.SetDefault(log)
	s, err := service.Open(by.Config, service.Options{Log: log, Fatal: by.Fatal})
	if err != nil {
		return err
	}
	return errors.Join(op.perform(ctx, s, in, out, file, Throttle(by.Progress)), s.Close())
}

// Message returns the text of an error on one line, without its code, which is meant for programs.
func Message(err error) string {
	var f *fault.Error
	text := err.Error()
	if errors.As(err, &f) {
		text = f.Message
	}
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
}
