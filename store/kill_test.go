package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// TestKill kills a writing process repeatedly. Every acknowledged write must be there, and the
// store must be consistent.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[uuid.UUID]int{} // record → its last acknowledged count
	for _, lines := range []int{1, 40, 150, 300, 77} {
		child := exec.Command(os.Args[0], dir)
		child.Env = append(os.Environ(), childEnv+"=writer")
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		// What the child wrote into the pipe before it was killed counts too.
		seen := 0
		for in := bufio.NewScanner(out); in.Scan(); {
			var id string
			var count int
			if _, err := fmt.Sscan(in.Text(), &id, &count); err != nil {
				t.Fatalf("the child says %q: %v", in.Text(), err)
			}
			parsed := uuid.MustParse(id)
			acknowledged[parsed] = max(acknowledged[parsed], count)
			if seen++; seen == lines {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		var exit *exec.ExitError
		if err := child.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
			t.Fatalf("the child was not killed: %v", err)
		}
		checkAcknowledged(t, dir, acknowledged)
	}
}

func checkAcknowledged(t *testing.T, dir string, acknowledged map[uuid.UUID]int) {
	t.Helper()
	s := open(t, dir, Options{})
	read(t, s, orgA, func(tx *Tx) error {
		for id, count := range acknowledged {
			if d, err := people.Get(tx, id); err != nil || d.Record.Count < count {
				t.Errorf("%s: %d was acknowledged, there is %d, %v", id, count, d.Record.Count, err)
			}
		}
		return nil
	})
	if found := problems(t, s, orgA); found != nil {
		t.Error(found)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// writerChild writes until it is killed, and prints the record and the count of each acknowledged
// write.
func writerChild(dir string) {
	s, err := Open(dir, Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for {
				var d Doc[person]
				for count := range 5 {
					err := s.Update(context.Background(), orgA, boss, func(tx *Tx) (err error) {
						p := person{Name: "p", Count: count, Tags: []string{fmt.Sprint(w), fmt.Sprint(count)}}
						if count == 0 {
							id := tx.NewID()
							p.Email = id.String()
							d, err = people.Insert(tx, id, p)
							return err
						}
						p.Email = d.Record.Email
						d, err = people.Update(tx, d, p, []string{"count"})
						return err
					})
					if err != nil {
						fmt.Fprintln(os.Stderr, err)
						os.Exit(1)
					}
					// A short line reaches the pipe in one write, whole or not at all.
					fmt.Println(d.ID, count)
				}
			}
		})
	}
	wg.Wait()
}
