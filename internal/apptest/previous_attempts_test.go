package apptest

import (
	"bytes"
	"encoding/binary"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/store"
)

// formerAttempts and formerBackOffs are the parts in which versions up to format 9 stored attempts to deliver events, and until
// when subscriptions wanted none.
var formerAttempts, formerBackOffs = store.NewParts("webhook_attempts"), store.NewParts("webhook_rests")

// editFormer changes the store of such a version, which the service has not opened yet.
func editFormer(t *testing.T, dir string, edit func(*store.Tx) error) {
	t.Helper()
	st, err := store.Open(dir, store.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	orgs, err := st.Organizations()
	for _, org := range orgs {
		if err != nil {
			break
		}
		err = st.Update(t.Context(), org, store.Actor{}, edit)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAttemptsOfPreviousBuild opens a store whose attempts were parts of their subscriptions. They are listed as before, also those
// of a deleted subscription and those with an error that is worded differently now, and events can be delivered again. An
// endpoint that has asked for a pause still gets it.
func TestAttemptsOfPreviousBuild(t *testing.T) {
	dir, keys := unpackFixture(t, "format-9")
	listed, err := os.ReadFile("testdata/format-9.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	former := []string{
		"dns: the host name could not be resolved", "blocked_address: the host resolves to an address that deliveries may not use",
	}
	missing, changed := uuid.MustParse(keys["missing"]), map[uint32][]byte{}
	editFormer(t, dir, func(tx *store.Tx) error {
		_, err := formerAttempts.ScanReadable(tx, missing, func(n uint32, value []byte) error {
			changed[n] = bytes.Replace(value, []byte("dns: the host has no address that deliveries may use"), []byte(former[n%2]), 1)
			return nil
		})
		for n, value := range changed {
			formerAttempts.Put(tx, missing, n, value)
		}
		pause := binary.BigEndian.AppendUint64(nil, uint64(Start.Add(time.Hour).UnixMilli()))
		formerBackOffs.Put(tx, uuid.MustParse(keys["working"]), 0, pause)
		return err
	})
	p := openPreviousBuild(t, dir, keys)
	const path = "/v1/webhooks/subscriptions/"
	var all []string
	same := func(when string) {
		t.Helper()
		all = nil
		for i, line := range slices.Collect(strings.Lines(string(listed))) {
			name := []string{"working", "missing", "deleted"}[i]
			before := &Response{t: t, Body: []byte(line)}
			now := p.acme.Get(path + keys[name] + "/deliveries").Is(200)
			for _, part := range []string{"data", "pagination"} {
				if got, want := now.Value(part), before.Value(part); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, the %s of the %s subscription is %v, want %v", when, part, name, got, want)
				}
			}
			all = append(all, now.Column("id")...)
		}
	}
	same("at first")
	if got := p.acme.records("/v1/webhook-deliveries/list", ""); len(got) != len(all) || len(all) != 15 {
		t.Errorf("%d attempts are listed, want the %d of the subscriptions", len(got), len(all))
	}
	p.checked(t, "after the upgrade")
	p.Restart()
	same("after another start")
	if err := p.Store.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	working := path + keys["working"]
	p.acme.Post("/v1/contacts", `{"first_name": "Ada", "email": "ada@initech.example"}`).Is(201)
	for _, want := range []int{3, 4} { // during and after the pause
		p.Deliver()
		if got := len(p.acme.Get(working + "/deliveries").Is(200).Column("id")); got != want {
			t.Errorf("the subscription has %d attempts, want %d", got, want)
		}
		p.Clock.Advance(time.Hour)
	}
	event := p.acme.Post(working+"/deliveries/"+all[0]+"/redeliver", "").Is(202).Text("data.source_event_id")
	p.Deliver() // to an endpoint that is gone
	if got := p.acme.Get(working + "/deliveries?source_event_id=" + event).Is(200).Column("attempt"); !slices.Equal(got, []string{"2", "1"}) {
		t.Errorf("the attempts of the event that was delivered again are %q", got)
	}
	p.Clock.Advance(365 * 24 * time.Hour) // the fixture is younger than the clock of tests
	p.Work()
	if got := p.acme.records("/v1/webhook-deliveries/list", ""); len(got) != 0 {
		t.Errorf("%d attempts are left after the retention time", len(got))
	}
	p.acme.Get(path+keys["deleted"]+"/deliveries").Fails(404, "not_found", "")
	p.checked(t, "at the end")
}
