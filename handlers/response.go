package handlers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"prospector/internal/shape"
)

// response is an HTTP response before it is written.
type response struct {
	status      int
	body        []byte
	replayBody  []byte // stored for replays instead of body, when body contains a secret
	contentType string // empty means application/json
	etag        string
	header      http.Header
	replayed    bool
	isAsset     bool                // it was compressed once for all clients
	stream      func(*stream) error // if set, writes the body in parts
}

// Meta is part of every response envelope.
type Meta struct {
	Timestamp shape.Time `json:"timestamp" rule:"required"`
	Damaged   int        `json:"damaged,omitempty" rule:"optional" doc:"Only in lists: the number of records of this kind that are damaged on disk and left out, whether or not the filter would match them. Absent if there are none."`

	OperationID uuid.UUID `json:"operation_id,omitzero" label:"Operation ID" rule:"optional" doc:"Only in the answer to a merge: the operation that undoes it, with POST /v1/operations/{id}/undo."`
}

// Pagination describes the position of a page in its list.
type Pagination struct {
	Page       int `json:"page"`
	PageSize   int `json:"page_size"`
	TotalCount int `json:"total_count"`
	TotalPages int `json:"total_pages"`
}

func paginate(page, size, total int) Pagination {
	return Pagination{Page: page, PageSize: size, TotalCount: total, TotalPages: (total + size - 1) / size}
}

// itemEnvelope splices data, which is already encoded, into the envelope of one item.
func (a *API) itemEnvelope(data []byte) []byte { return a.closeEnvelope(openItem(data)) }

func openItem(data []byte) []byte {
	b := make([]byte, 0, len(data)+128)
	return append(append(b, `{"data":`...), data...)
}

func (a *API) encodeItem(v any) ([]byte, error) {
	data, err := marshal(v)
	return a.itemEnvelope(data), err
}

// listEnvelope splices records, which are already encoded, into the envelope of a list.
func (a *API) listEnvelope(records [][]byte, p Pagination, damaged int) []byte {
	size := 256
	for _, r := range records {
		size += len(r) + 1
	}
	b := append(make([]byte, 0, size), openList...)
	for i, r := range records {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, r...)
	}
	b = append(b, `],"pagination":`...)
	b = append(b, mustJSON(p)...)
	if damaged == 0 {
		return a.closeEnvelope(b)
	}
	return a.closeWith(b, Meta{Damaged: damaged})
}

func (a *API) closeWith(b []byte, m Meta) []byte {
	m.Timestamp = shape.At(a.Store.Now())
	return append(append(append(b, `,"meta":`...), mustJSON(m)...), '}')
}

// openList begins the envelope of a list.
const openList = `{"data":[`

func (a *API) closeEnvelope(b []byte) []byte {
	b = append(b, `,"meta":{"timestamp":"`...)
	b = append(b, shape.At(a.Store.Now()).String()...)
	return append(b, `"}}`...)
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// mustJSON encodes structs of this package, whose encoding cannot fail.
func mustJSON(v any) []byte {
	b, err := marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func etag(version string) string { return `"` + version + `"` }

// write sends the response.
func (a response) write(w http.ResponseWriter) {
	a.writeHead(w)
	_, _ = w.Write(a.body) // fails only if the client has disconnected, and then nobody is left to receive an error
}

func (a response) writeHead(w http.ResponseWriter) {
	h := w.Header()
	for k, v := range a.header {
		h[k] = v
	}
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	if a.etag != "" {
		h.Set("ETag", a.etag)
	}
	if a.replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	if a.body != nil || a.stream != nil {
		h.Set("Content-Type", cmp.Or(a.contentType, "application/json"))
	}
	if a.body != nil {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
}

// seconds rounds d up to whole seconds, with a minimum of one.
func seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}
