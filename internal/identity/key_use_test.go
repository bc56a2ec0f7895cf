package identity_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

func object(t *testing.T, body string) shape.Value {
	t.Helper()
	v, err := shape.ParseObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestKeyUsesArePersisted uses a key and lets a minute pass. Another instance then finds the last
// use in the store, although the first was not stopped.
func TestKeyUsesArePersisted(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		id := identity.New(st, &record.Set{}, identity.SessionTimes{})
		org, err := id.CreateOrganization(t.Context(), store.Actor{}, object(t, `{"name": "Acme"}`))
		if err != nil {
			t.Fatal(err)
		}
		var key string
		err = st.Update(t.Context(), org.ID, store.Actor{}, func(tx *store.Tx) error {
			if _, err := id.Users.Create(tx, record.NewDraft[identity.User](object(t, `{"email": "ada@acme.example"}`))); err != nil {
				return err
			}
			_, key, err = id.CreateKey(tx, record.NewDraft[identity.Key](object(t, `{"name": "k"}`)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := id.Authenticate(key); err != nil {
			t.Fatal(err)
		}
		used := shape.At(time.Now())

		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			id.PersistKeyUses(ctx, func(err error) { t.Error(err) })
		}()
		lastUse := func() (at shape.Time) {
			fresh := identity.New(st, &record.Set{}, identity.SessionTimes{}) // with nothing in memory
			err := st.View(org.ID, func(tx *store.Tx) error {
				keys, err := fresh.ListKeys(tx)
				at = keys[0].LastUsedAt
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		if lastUse().Valid() {
			t.Error("the use was stored immediately: a request must not cause a write")
		}
		synctest.Wait()              // PersistKeyUses waits for its ticker
		time.Sleep(61 * time.Second) // fake time of the bubble
		synctest.Wait()
		if got := lastUse(); got != used {
			t.Errorf("after a minute the last use is %v, want %v", got, used)
		}
		cancel()
		<-stopped
	})
}
