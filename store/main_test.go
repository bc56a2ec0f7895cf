package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// childEnv names the role of a copy of the test binary. Tests that kill or limit a process need a
// process of their own.
const childEnv = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	switch role := os.Getenv(childEnv); role {
	case "":
		os.Exit(m.Run())
	case "writer":
		writerChild(os.Args[1])
	case "limited":
		limitedChild(os.Args[1])
	case "holder":
		holderChild(os.Args[1])
	default:
		panic("no child plays " + role)
	}
}

// person has everything that a record can have: a unique key, a global key in its private part, and
// a key with several values.
type person struct {
	Name   string   `json:"name"`
	Email  string   `json:"email,omitzero"`
	Tags   []string `json:"tags,omitzero"`
	Count  int      `json:"count,omitzero"`
	hidden hidden
}

type hidden struct {
	Source string `json:"source,omitzero"`
	Token  string `json:"token,omitzero"`
}

func (p *person) Private() any { return &p.hidden }

var people = NewTable("people", []Unique[person]{
	{Name: "email", Of: func(p *person) []byte { return text(p.Email) }, Taken: func(p *person, _ []byte, other uuid.UUID) error {
		return fault.Taken(fault.TagNameTaken, "email", other.String(), "is taken")
	}},
	{Name: "token", Of: func(p *person) []byte { return text(p.hidden.Token) }, Global: true},
}, []Key[person]{
	{Name: "tag", Of: func(_ *Tx, p *person) ([][]byte, error) {
		var keys [][]byte
		for _, tag := range p.Tags {
			keys = append(keys, []byte(tag))
		}
		return keys, nil
	}},
})

func text(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

func same(a, b person) bool {
	return a.Name == b.Name && a.Email == b.Email && a.Count == b.Count && a.hidden == b.hidden && slices.Equal(a.Tags, b.Tags)
}

var (
	orgA = uuid.MustParse("0a000000-0000-7000-8000-00000000000a")
	orgB = uuid.MustParse("0b000000-0000-7000-8000-00000000000b")
	boss = Actor{Key: uuid.UUID{1}, User: uuid.UUID{2}, Operation: "update_person", RequestID: "req-1"}

	errRefused = errors.New("refused")
)

// fakeClock is a clock that moves only when the test moves it.
type fakeClock struct{ milli atomic.Int64 }

func newClock() *fakeClock {
	c := &fakeClock{}
	c.milli.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *fakeClock) Now() time.Time         { return time.UnixMilli(c.milli.Load()).UTC() }
func (c *fakeClock) move(by time.Duration)  { c.milli.Add(by.Milliseconds()) }
func (c *fakeClock) after(h int) time.Time  { return c.Now().Add(time.Duration(h) * time.Hour) }
func (c *fakeClock) options() (opt Options) { opt.Clock = c.Now; return opt }
func numberedID(kind byte, n int) (id uuid.UUID) {
	return uuid.UUID{kind, 14: byte(n >> 8), 15: byte(n)}
}

func open(t testing.TB, dir string, opt Options) *Store {
	t.Helper()
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// write is an Update that must succeed. fn runs in the commit loop, so it returns errors and never
// calls t.Fatal.
func write(t testing.TB, s *Store, org uuid.UUID, fn func(*Tx) error) {
	t.Helper()
	if err := s.Update(context.Background(), org, boss, fn); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, s *Store, org uuid.UUID, fn func(*Tx) error) {
	t.Helper()
	if err := s.View(org, fn); err != nil {
		t.Fatal(err)
	}
}

// insert writes one person in a transaction of its own.
func insert(t testing.TB, s *Store, org uuid.UUID, p person) (d Doc[person]) {
	t.Helper()
	write(t, s, org, func(tx *Tx) (err error) {
		d, err = people.Insert(tx, tx.NewID(), p)
		return err
	})
	return d
}

// names lists the people of an organization in order of creation.
func names(t testing.TB, s *Store, org uuid.UUID) string {
	t.Helper()
	var list []string
	read(t, s, org, func(tx *Tx) error {
		return people.Scan(tx, func(d Doc[person]) (bool, error) {
			list = append(list, d.Record.Name)
			return true, nil
		})
	})
	return strings.Join(list, " ")
}

// problems returns what Verify reports about an organization's people.
func problems(t testing.TB, s *Store, org uuid.UUID) (list []string) {
	t.Helper()
	read(t, s, org, func(tx *Tx) error {
		return people.Verify(tx, func(_ bool, format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) })
	})
	return list
}

func wantCode(t testing.TB, err error, code fault.Code) {
	t.Helper()
	if err == nil || fault.CodeOf(err) != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}
