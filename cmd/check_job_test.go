package cmd_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// TestCheckQueuesJobs checks that check reports a job that is in no queue and would never run. With
// --repair the job runs, immediately if a server is running.
func TestCheckQueuesJobs(t *testing.T) {
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprintf("server %t", running), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
			org, key := p.org("Acme")
			_, s, end := p.open(0)
			gone, kept := s.tag(key, "Gone"), s.tag(key, "Kept")
			const n = 600 // more than the deleting transaction cleans up
			ids := s.load(key, n, func(i int) string { return fmt.Sprintf(`"tags": [%q, %q]`, gone, kept) })
			s.do(http.StatusNoContent, key, "DELETE", "/v1/tags/"+gone, "")
			end()
			p.editStore(p.path("data", "prospector.db"), func(tx *bolt.Tx) error {
				due := tx.Bucket([]byte("due"))
				k, _ := due.Cursor().First()
				return due.Delete(k)
			})
			w := &sweep{p: p, org: uuid.MustParse(org), key: key, ids: ids, operation: "delete_tag"}
			if running {
				s = p.serve()
			}
			for _, repair := range []bool{false, true} {
				if found := p.runCheck(fmt.Sprint("--repair=", repair)); found.has(t, "organization "+org, "is not in the queue") != repair || len(found.Problems) != 1 {
					t.Errorf("--repair=%t: %+v", repair, found)
				}
			}
			p.passesCheck()
			if !running {
				s = p.serve()
			}
			s.awaitSwept(w, ids[n-1])
			s.stop()
			s.hasNoErrors()
			w.done()
			p.passesCheck()
		})
	}
}
