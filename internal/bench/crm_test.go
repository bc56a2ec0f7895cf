package bench

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/service"
	"prospector/store"
)

const (
	batchRecords = 1000
	batchClients = 2
)

// measureBatch measures the creation of records in batches over HTTP and compares it with loading
// them in process.
func measureBatch(b *testing.B, s *service.Service, n int, inProcess float64, bare *bareBleve) tenant {
	t := newTenant(b, s, "Batches", 60)
	server := httptest.NewServer(s.API)
	defer server.Close()
	bodies := batchBodies(b, t, n)
	start := time.Now()
	sendBatches(b, server, t, "contacts", bodies)
	written := time.Since(start)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	ours, theirs := float64(n)/took.Seconds(), float64(n)/bare.took.Seconds()
	fmt.Printf("\nbatches of %d over HTTP: %.0f records/s (written in %s, indexed in %s); loading in process: %.0f/s; ratio %.2f, target 0.8 %s; ratio to bare bleve %.2f\n",
		batchRecords, ours, written.Round(time.Millisecond), took.Round(time.Millisecond), inProcess, ours/inProcess, verdict(ours/inProcess >= 0.8), ours/theirs)
	return t
}

// batchBodies returns the request bodies of batches of n contacts.
func batchBodies(b *testing.B, t tenant, n int) (bodies []string) {
	r := rand.New(rand.NewPCG(3, 7))
	for made := 0; made < n; made += batchRecords {
		var body bytes.Buffer
		body.WriteString(`{"records":[`)
		for i := range min(batchRecords, n-made) {
			if i > 0 {
				body.WriteByte(',')
			}
			raw, err := json.Marshal(contactBody(r, made+i, t.tags))
			if err != nil {
				b.Fatal(err)
			}
			body.Write(raw)
		}
		body.WriteString(`]}`)
		bodies = append(bodies, body.String())
	}
	return bodies
}

// sendBatches sends batches of an entity concurrently and returns the responses in order.
func sendBatches(b *testing.B, server *httptest.Server, t tenant, entity string, bodies []string) [][]byte {
	answers, next := make([][]byte, len(bodies)), make(chan int, len(bodies))
	for i := range bodies {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range batchClients {
		wg.Go(func() {
			for i := range next {
				answer, err := send(http.DefaultClient, t, http.MethodPost, server.URL+"/v1/"+entity+"/batch", bodies[i])
				if err != nil || !bytes.Contains(answer, []byte(`"failed":0`)) {
					b.Errorf("%v: %.300s", err, answer)
				}
				answers[i] = answer
			}
		})
	}
	wg.Wait()
	return answers
}

// measureExport measures the export of a whole list and compares it with writing the same bytes to
// a socket.
func measureExport(b *testing.B, s *service.Service, t tenant) {
	server := httptest.NewServer(s.API)
	defer server.Close()
	export := func(body string) ([]byte, error) {
		return send(http.DefaultClient, t, http.MethodPost, server.URL+"/v1/contacts/export", body)
	}
	lines, err := export(`{}`)
	if err != nil {
		b.Fatal(err)
	}
	ids := contactIDs(b, s, t)
	// Every variant is read the same way, so that the cost of the client cancels out.
	drained := func(body string) func() error {
		return func() error {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				return err
			}
			fmt.Fprintf(conn, "POST /v1/contacts/export HTTP/1.1\r\nHost: bench\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", t.key, len(body), body)
			return drain(conn)
		}
	}
	ways := []struct {
		name string
		run  func() error
	}{
		{"jsonl", drained(`{}`)},
		{"jsonl by last_name", drained(`{"sort":"last_name"}`)},
		{"csv", drained(`{"format":"csv"}`)},
		{"bytes from memory", func() error { return toSocket(func(w io.Writer) error { return inPieces(w, lines) }) }},
		{"bytes from the store", func() error { return toSocket(func(w io.Writer) error { return fromStore(w, s, t.id, ids) }) }},
	}
	took := make([][]float64, len(ways))
	for range 5 {
		for i, way := range ways {
			start := time.Now()
			if err := way.run(); err != nil {
				b.Fatal(way.name, err)
			}
			took[i] = append(took[i], time.Since(start).Seconds())
		}
	}
	fmt.Printf("\nexport of %d records, %d MB\n", len(ids), len(lines)>>20)
	for i := range took {
		slices.Sort(took[i])
	}
	for i, way := range ways {
		fmt.Printf("%-28s %6.0f MB/s  ratio to bytes from memory %.2f, to bytes from the store %.2f\n",
			way.name, float64(len(lines))/took[i][2]/1e6, took[3][2]/took[i][2], took[4][2]/took[i][2])
	}
	fmt.Printf("target 0.5 of bytes from memory: %s; of bytes from the store: %s\n",
		verdict(took[3][2]/took[0][2] >= 0.5), verdict(took[4][2]/took[0][2] >= 0.5))
}

// contactIDs returns the ids of all contacts in order of creation.
func contactIDs(b *testing.B, s *service.Service, t tenant) (ids []uuid.UUID) {
	err := s.Store.View(t.id, func(tx *store.Tx) error {
		return tx.Records("contacts", uuid.Nil, func(id uuid.UUID, _ uint64, _ []byte) (bool, error) {
			ids = append(ids, id)
			return true, nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	return ids
}

// toSocket calls write with a socket whose other end is being read.
func toSocket(write func(io.Writer) error) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer ln.Close()
	failed := make(chan error, 1)
	go func() {
		conn, err := ln.Accept()
		if err == nil {
			err = write(conn)
			conn.Close()
		}
		failed <- err
	}()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		return err
	}
	if err := drain(conn); err != nil {
		return err
	}
	return <-failed
}

// drain reads a socket until EOF.
func drain(conn net.Conn) error {
	defer conn.Close()
	buffer := make([]byte, 64<<10)
	for {
		if _, err := conn.Read(buffer); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// inPieces writes in chunks of the size that an export uses.
func inPieces(w io.Writer, b []byte) error {
	for len(b) > 0 {
		n := min(256<<10, len(b))
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// fromStore reads stored records and writes them unchanged.
func fromStore(w io.Writer, s *service.Service, org uuid.UUID, ids []uuid.UUID) error {
	var piece []byte
	for some := range slices.Chunk(ids, 500) {
		piece = piece[:0]
		err := s.Store.View(org, func(tx *store.Tx) error {
			records := tx.Reader("contacts")
			for _, id := range some {
				_, public, err := records.Public(id)
				if err != nil {
					return err
				}
				piece = append(append(piece, public...), '\n')
			}
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// measureTagDeletion measures the deletion of a tag that every record has, compares it with reading
// one record, and prints how long the clean-up takes.
func measureTagDeletion(b *testing.B, s *service.Service, t tenant, n int) {
	server := httptest.NewServer(s.API)
	defer server.Close()
	url := server.URL
	answer, err := sendFor(http.DefaultClient, t, http.MethodPost, url+"/v1/tags", `{"name":"Everywhere","color":"red","object_type":"contact"}`, http.StatusCreated)
	if err != nil {
		b.Fatal(err)
	}
	var tag struct {
		Data struct {
			ID uuid.UUID `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &tag); err != nil {
		b.Fatal(err)
	}
	ids := contactIDs(b, s, t)
	for some := range slices.Chunk(ids, batchRecords) {
		var body bytes.Buffer
		body.WriteString(`{"records":[`)
		for i, id := range some {
			if i > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `{"id":%q,"add_tags":[%q]}`, id, tag.Data.ID)
		}
		body.WriteString(`]}`)
		if _, err := send(http.DefaultClient, t, http.MethodPost, url+"/v1/contacts/batch", body.String()); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	if _, err := send(http.DefaultClient, t, http.MethodGet, url+"/v1/contacts/"+ids[0].String(), ""); err != nil {
		b.Fatal(err)
	}
	get := time.Since(start)
	start = time.Now()
	if _, err := sendFor(http.DefaultClient, t, http.MethodDelete, url+"/v1/tags/"+tag.Data.ID.String(), "", http.StatusNoContent); err != nil {
		b.Fatal(err)
	}
	deleted := time.Since(start)
	filter := fmt.Sprintf(`{"filters":[{"field":"tags","condition":"is","value":%q}]}`, tag.Data.ID)
	start = time.Now()
	answer, err = send(http.DefaultClient, t, http.MethodPost, url+"/v1/contacts/list", filter)
	listed := time.Since(start)
	if err != nil || !bytes.Contains(answer, []byte(`"total_count":0`)) {
		b.Errorf("%v: %.300s", err, answer)
	}
	start = time.Now()
	s.Worker.Once(b.Context())
	fmt.Printf("\ndeleting a tag of %d records: response after %s (reading one record: %s), next list by that tag after %s, clean-up finished after %s\n",
		n, deleted.Round(10*time.Microsecond), get.Round(10*time.Microsecond), listed.Round(10*time.Microsecond), time.Since(start).Round(time.Millisecond))
}
