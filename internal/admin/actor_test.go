package admin

import (
	"fmt"
	"log/slog"
	"testing"

	"prospector/internal/service"
	"prospector/store"
)

// TestCommandsAreInTheChangeLog checks that the change log names the actor of every change. For
// commands the actor is the command itself.
func TestCommandsAreInTheChangeLog(t *testing.T) {
	s, err := service.Open(service.Config{DataDir: t.TempDir()}, service.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	fields := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	org, err := CreateOrg.do(ctx, s, Input{Fields: fields("name", "Acme")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := SetOrg.do(ctx, s, Input{Org: "Acme", Fields: fields("rate_limit_per_minute", 7)}); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateUser.do(ctx, s, Input{Org: "Acme", Fields: fields("email", "ada@acme.example")}); err != nil {
		t.Fatal(err)
	}
	key, err := CreateKey.do(ctx, s, Input{Org: "Acme", Fields: fields("name", "k")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DeactivateKey.do(ctx, s, KeyRef{Org: "Acme", ID: key.ID}); err != nil {
		t.Fatal(err)
	}
	var log []string
	err = s.Store.View(org.ID, func(tx *store.Tx) error {
		for _, table := range []string{"organizations", "users", "api_keys"} {
			err := tx.Changes(table, 0, func(c store.Change) (bool, error) {
				log = append(log, fmt.Sprintf("%s %v", c.Actor.Operation, c.Fields))
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || fmt.Sprint(log) != "[org create [] org set [limits] user create [] key create [] key deactivate [active deactivated_at]]" {
		t.Errorf("%v, %v", log, err)
	}
}
