package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/webhook"
	"prospector/store"
)

// demoEndpoint describes the subscription whose events are printed.
const demoEndpoint = "Printed by prospector demo"

// showCampaign has a campaign run, and prints what a webhook tells of it.
func showCampaign(ctx context.Context, s *service.Service, org uuid.UUID) (campaign uuid.UUID, err error) {
	url, err := printEvents(ctx, os.Stdout)
	if err != nil {
		return campaign, err
	}
	if err := subscribeDemo(ctx, s, org, url); err != nil {
		return campaign, err
	}
	return runOutreach(ctx, s, org)
}

// subscribeDemo subscribes the endpoint in the place of that of the demo before.
func subscribeDemo(ctx context.Context, s *service.Service, org uuid.UUID, url string) error {
	return s.Store.Update(ctx, org, demoActor, func(tx *store.Tx) error {
		old, err := find(tx, s.Webhooks.Subscriptions, func(w *webhook.Subscription) bool { return string(w.Description) == demoEndpoint })
		if err == nil && old != uuid.Nil {
			err = s.Webhooks.Delete(tx, old, nil)
		}
		if err != nil {
			return err
		}
		v, err := object(map[string]any{"url": url, "description": demoEndpoint, "triggers": []string{"sequence.started", "sequence.completed", "sequence.stopped", "message.*"}})
		if err != nil {
			return err
		}
		_, _, err = s.Webhooks.Create(tx, record.NewDraft[webhook.Subscription](v))
		return err
	})
}

// printEvents prints the events that come to the address it gives, until ctx ends.
func printEvents(ctx context.Context, to io.Writer) (url string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e struct {
			TriggerKey string `json:"trigger_key"`
			Data       struct {
				To, Subject, Error, Status, Reason string
				ContactID                          uuid.UUID `json:"contact_id"`
			}
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&e); err != nil {
			http.Error(w, "not an event", http.StatusBadRequest)
			return
		}
		d := e.Data
		switch {
		case d.To != "":
			fmt.Fprintf(to, "%-20s %s: %q %s\n", e.TriggerKey, d.To, d.Subject, d.Error)
		default:
			fmt.Fprintf(to, "%-20s contact %s %s\n", e.TriggerKey, d.ContactID, d.Reason)
		}
	})}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(ln) }() // until it is closed with ctx
	return "http://" + ln.Addr().String(), nil
}
