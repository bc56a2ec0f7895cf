package cmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/store"
)

// socketName is the socket in the data directory through which commands reach a running server.
const socketName = "admin.sock"

// adminOp is what a command does to the service. With a server running the command has the server do it, through the
// socket; without one it opens the store and does it itself.
type adminOp[In, Out any] struct {
	name string
	do   func(context.Context, *Service, In) (Out, error)
	// long takes the place of do in what takes a while: it tells how far it has come.
	long func(context.Context, *Service, In, progress) (Out, error)
	// takes takes the place of do in what takes a file, as a stream: the server may not be able to read it.
	takes func(context.Context, *Service, In, io.Reader) (Out, error)
	// unit is what progress counts: inRecords when empty.
	unit string
	// makes is set where a store that is not there yet is to be made.
	makes bool
}

// reply is what the server answers, one a line: how far it has come any number of times, then the output or an error.
type reply[Out any] struct {
	Done  int    `json:"done,omitempty"`
	Total int    `json:"total,omitempty"`
	Out   *Out   `json:"out,omitempty"`
	Error string `json:"error,omitempty"`
}

func (op adminOp[In, Out]) perform(ctx context.Context, s *Service, in In, file io.Reader, report progress) (Out, error) {
	switch {
	case op.long != nil:
		return op.long(ctx, s, in, report)
	case op.takes != nil:
		return op.takes(ctx, s, in, file)
	}
	return op.do(ctx, s, in)
}

// adminHandler serves the operations below on the socket: POST /<name> with the input as a line of JSON, and the file of those
// that take one behind it.
func (s *Service) adminHandler() http.Handler {
	mux := http.NewServeMux()
	for _, op := range []interface {
		mount(*http.ServeMux, *Service)
	}{
		orgCreate, orgList, orgSet, userCreate, userList, keyCreate, keyList, keyDeactivate, check, reindex,
		orgExport, orgDelete, importRows, backup, resume, catalogImport, catalogGenerate, catalogStats,
	} {
		op.mount(mux, s)
	}
	return mux
}

func (op adminOp[In, Out]) mount(mux *http.ServeMux, s *Service) {
	mux.HandleFunc("POST /"+op.name, func(w http.ResponseWriter, r *http.Request) {
		var in In
		var out Out
		conn := http.NewResponseController(w)
		_ = errors.Join(conn.EnableFullDuplex(), conn.SetReadDeadline(time.Time{}), conn.SetWriteDeadline(time.Time{})) // it may take as long as it takes
		ctx := r.Context()
		sent, drained := received(r.Body)
		if op.do == nil {
			var cancel context.CancelCauseFunc
			ctx, cancel = context.WithCancelCause(ctx)
			defer context.AfterFunc(s.stopping, func() {
				cancel(errStopping)
				_ = sent.CloseWithError(errStopping) // of a file whose end may never come
			})()
		}
		answer := json.NewEncoder(w)
		body := bufio.NewReader(sent)
		line, err := body.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &in)
		}
		if err == nil {
			out, err = op.perform(ctx, s, in, body, seldom(func(done, total int) {
				_ = answer.Encode(reply[Out]{Done: done, Total: total})
				_ = conn.Flush()
			}))
		}
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		s.log.Info("admin", "operation", op.name, "failed", err != nil)
		if err != nil {
			_ = answer.Encode(reply[Out]{Error: message(err)})
		} else {
			_ = answer.Encode(reply[Out]{Out: &out})
		}
		_ = errors.Join(conn.Flush(), conn.SetReadDeadline(time.Now().Add(hangUpTime)))
		_ = sent.Close()
		<-drained // when whoever sends a file has read the answer and hung up
	})
}

// received gives what is sent. It is read to its end also when nobody wants it any more, and drained is closed then: whoever
// sends a file would else get no answer.
func received(body io.Reader) (sent *io.PipeReader, drained <-chan struct{}) {
	sent, sending := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := io.Copy(sending, body)
		_ = sending.CloseWithError(err)
		_, _ = io.Copy(io.Discard, body)
	}()
	return sent, done
}

// hangUpTime is how long whoever was answered may take to hang up.
const hangUpTime = 10 * time.Second

var (
	errStopping    = errors.New("the server is shutting down")
	errInterrupted = errors.New("interrupted; what was done until then is kept")
)

// run does the operation, by the server when there is one.
func (op adminOp[In, Out]) run(c *cobra.Command, in In) (out Out, err error) {
	return op.runWith(c, in, nil, 0)
}

// runWith does an operation that takes a file, whose size may be 0 when it is not known.
func (op adminOp[In, Out]) runWith(c *cobra.Command, in In, file io.Reader, size int) (out Out, err error) {
	cfg, err := loadConfig(c, nil)
	if err != nil {
		return out, err
	}
	report, finish := showProgress(c.ErrOrStderr(), cmp.Or(op.unit, inRecords))
	defer finish()
	if file != nil {
		file = &watched{Reader: file, size: size, report: report}
	}
	// A server may come up or go away between asking for it and opening the store, so both are tried again.
	for deadline := time.Now().Add(5 * time.Second); ; {
		out, err = op.ask(c.Context(), cfg.DataDir, in, file, report)
		if errors.Is(err, errNoServer) {
			out, err = op.direct(c.Context(), cfg, in, file, report)
		}
		switch {
		case err != nil && c.Context().Err() != nil:
			return out, errInterrupted
		case !errors.Is(err, store.ErrLocked) || time.Now().After(deadline):
			return out, err
		}
	}
}

var errNoServer = errors.New("no server is running")

func (op adminOp[In, Out]) direct(ctx context.Context, cfg Config, in In, file io.Reader, report progress) (out Out, err error) {
	if _, err := os.Stat(filepath.Join(cfg.DataDir, store.FileName)); errors.Is(err, os.ErrNotExist) && !op.makes {
		return out, fmt.Errorf("there is no store in %s; 'prospector org create' makes one, --data-dir names another", cfg.DataDir)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	slog.SetDefault(log)
	s, err := Open(cfg, log, nil)
	if err != nil {
		return out, err
	}
	out, err = op.perform(ctx, s, in, file, report)
	return out, errors.Join(err, s.Close())
}

func (op adminOp[In, Out]) ask(ctx context.Context, dataDir string, in In, file io.Reader, report progress) (out Out, err error) {
	line, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	var body io.Reader = bytes.NewReader(append(line, '\n'))
	if file != nil {
		body = io.MultiReader(body, file)
	}
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
			err = atSocket(dataDir, func(path string) error {
				conn, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
				return err
			})
			return conn, err
		},
		DisableKeepAlives: true,
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://admin/"+op.name, body)
	if err != nil {
		return out, err
	}
	res, err := client.Do(req)
	var dial *net.OpError
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR):
		return out, errNoServer
	case errors.As(err, &dial) && dial.Op == "dial":
		return out, fmt.Errorf("cannot reach the server: %w; run it as the user whom the server runs as", dial)
	}
	var unread unreadable
	if errors.As(err, &unread) {
		return out, unread
	}
	if err != nil {
		return out, wentAway(err)
	}
	defer res.Body.Close()
	for answer := json.NewDecoder(res.Body); ; {
		var r reply[Out]
		switch err := answer.Decode(&r); {
		case err != nil:
			return out, wentAway(err)
		case r.Error != "":
			return out, errors.New(r.Error)
		case r.Out != nil:
			return *r.Out, nil
		}
		report(r.Done, r.Total)
	}
}

// wentAway says that the server did not answer: it was killed, most likely.
func wentAway(err error) error {
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	return fmt.Errorf("the server went away before it answered (%w); what it had done until then is kept", err)
}

// atSocket calls use with a name for the socket. Such a name may have some hundred bytes only: in a data directory
// with a longer name it is used from inside, before anything else runs in the process.
func atSocket(dataDir string, use func(path string) error) error {
	path := filepath.Join(dataDir, socketName)
	if len(path) < 100 {
		return use(path)
	}
	back, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(dataDir); err != nil {
		return err
	}
	return errors.Join(use(socketName), os.Chdir(back))
}

// listenAdmin opens the socket. Whoever holds the store owns it: one that is there was left behind.
func listenAdmin(dataDir string) (ln net.Listener, err error) {
	if err := removeAdmin(dataDir); err != nil {
		return nil, err
	}
	err = atSocket(dataDir, func(path string) error {
		unix, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return err
		}
		unix.SetUnlinkOnClose(false) // its name may be relative to a directory that we have left
		ln = unix
		return os.Chmod(path, 0o600)
	})
	return ln, err
}

func removeAdmin(dataDir string) error {
	if err := os.Remove(filepath.Join(dataDir, socketName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// organizations are all that there are.
func (s *Service) organizations() ([]identity.Organization, error) {
	list := []identity.Organization{}
	ids, err := s.Store.Organizations()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		err := s.Store.View(id, func(tx *store.Tx) error {
			doc, err := s.Identity.Organizations.Get(tx, id)
			if err == nil {
				list = append(list, doc.Record)
			}
			return err
		})
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return nil, err
		}
	}
	return list, nil
}

// organization finds an organization by its id or, when only one has it, by its name. An id wins over a name, which
// any organization may take.
func (s *Service) organization(idOrName string) (identity.Organization, error) {
	orgs, err := s.organizations()
	if err != nil {
		return identity.Organization{}, err
	}
	var named []identity.Organization
	var ids []string
	for _, o := range orgs {
		if o.ID.String() == idOrName {
			return o, nil
		}
		if o.Name == idOrName {
			named, ids = append(named, o), append(ids, o.ID.String())
		}
	}
	switch len(named) {
	case 0:
		return identity.Organization{}, fmt.Errorf("there is no organization %q; 'prospector org list' shows those there are", idOrName)
	case 1:
		return named[0], nil
	}
	return identity.Organization{}, fmt.Errorf("%d organizations are called %q, name one by its id: %s", len(named), idOrName, strings.Join(ids, ", "))
}

// change runs fn in a transaction of the named organization, on behalf of the operator.
func (s *Service) change(ctx context.Context, idOrName, operation string, fn func(*store.Tx) error) error {
	org, err := s.organization(idOrName)
	if err != nil {
		return err
	}
	return s.Store.Update(ctx, org.ID, store.Actor{Operation: operation}, fn)
}

// view runs fn over the named organization's data.
func (s *Service) view(idOrName string, fn func(*store.Tx) error) error {
	org, err := s.organization(idOrName)
	if err != nil {
		return err
	}
	return s.Store.View(org.ID, fn)
}
