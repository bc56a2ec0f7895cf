package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
)

// ask runs the operation in the server. It fails with errNoServer if no server is running.
func (op operation) ask(
	ctx context.Context, dataDir string, in, out any, file io.Reader, report Progress,
) error {
	line, err := json.Marshal(in)
	if err != nil {
		return err
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
		return err
	}
	res, err := client.Do(req)
	var dial *net.OpError
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR):
		return errNoServer
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("cannot reach the server: %w; run the command as the user that the server runs as", dial)
	}
	var unread unreadable
	if errors.As(err, &unread) {
		return unread
	}
	if err != nil {
		return wentAway(err)
	}
	defer res.Body.Close()
	for answer := json.NewDecoder(res.Body); ; {
		var r reply
		switch err := answer.Decode(&r); {
		case err != nil:
			return wentAway(err)
		case r.Error != "":
			return errors.New(r.Error)
		case r.Out != nil:
			return json.Unmarshal(r.Out, out)
		}
		report(r.Done, r.Total)
	}
}

// wentAway is the error of a server that did not respond, most likely because it was killed.
func wentAway(err error) error {
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	return fmt.Errorf("the server stopped before it responded (%w); what it had done before is kept", err)
}
