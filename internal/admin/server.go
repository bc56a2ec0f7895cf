package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"prospector/internal/service"
)

// reply is one line of the server's response: any number of progress reports, then the output or an error.
type reply struct {
	Done  int             `json:"done,omitempty"`
	Total int             `json:"total,omitempty"`
	Out   json.RawMessage `json:"out,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Listen opens the admin socket of a service. Long operations are canceled when stopping ends.
func Listen(stopping context.Context, s *service.Service) (e service.Endpoint, err error) {
	e.Listener, err = listen(s.Config.DataDir)
	e.Handler = handler(stopping, s)
	return e, err
}

// handler serves the operations: POST /<name> with the input as a line of JSON, followed by the file, if there is one.
func handler(stopping context.Context, s *service.Service) http.Handler {
	mux := http.NewServeMux()
	for _, op := range []interface{ untyped() operation }{
		&Init, &CreateOrg, &ListOrgs, &SetOrg, &CreateUser, &ListUsers, &InviteUser, &SetPassword, &CreateKey, &ListKeys, &DeactivateKey, &Check, &Reindex, &Erase,
		&ExportOrg, &ImportOrg, &DeleteOrg, &ImportRecords, &Backup, &RestoreRecord, &Resume, &ImportCatalog, &GenerateCatalog, &CatalogStats,
		&MailCheck,
	} {
		op.untyped().mount(stopping, mux, s)
	}
	return mux
}

// hangUpTime is how long a client may take to close its connection after the response.
const hangUpTime = 10 * time.Second

func (op operation) mount(stopping context.Context, mux *http.ServeMux, s *service.Service) {
	mux.HandleFunc("POST /"+op.name, func(w http.ResponseWriter, r *http.Request) {
		in, out := op.newData()
		conn := http.NewResponseController(w)
		// An operation has no time limit.
		_ = errors.Join(conn.EnableFullDuplex(), conn.SetReadDeadline(time.Time{}), conn.SetWriteDeadline(time.Time{}))
		ctx := r.Context()
		sent, drained := receive(r.Body)
		if op.isLong {
			var cancel context.CancelCauseFunc
			ctx, cancel = context.WithCancelCause(ctx)
			defer context.AfterFunc(stopping, func() {
				cancel(errStopping)
				_ = sent.CloseWithError(errStopping) // the client may never finish sending its file
			})()
		}
		answer := json.NewEncoder(w)
		body := bufio.NewReader(sent)
		line, err := body.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, in)
		}
		if err == nil {
			err = op.perform(ctx, s, in, out, body, Throttle(func(done, total int) {
				_ = answer.Encode(reply{Done: done, Total: total})
				_ = conn.Flush()
			}))
		}
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		s.Log.Info("admin operation", "operation", op.name, "failed", err != nil)
		var last reply
		if err == nil {
			last.Out, err = json.Marshal(out)
		}
		if err != nil {
			last.Error = Message(err)
		}
		_ = answer.Encode(last)
		_ = errors.Join(conn.Flush(), conn.SetReadDeadline(time.Now().Add(hangUpTime)))
		_ = sent.Close()
		<-drained // the client reads the response and closes the connection while it still sends its file
	})
}

// receive returns what the client sends. It reads body to its end even after sent was closed, and then closes drained:
// a client that still sends a file would not read the response otherwise.
func receive(body io.Reader) (sent *io.PipeReader, drained <-chan struct{}) {
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
