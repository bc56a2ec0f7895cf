package deflate

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// TestGzip requires that a reader of gzip returns what was compressed.
func TestGzip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n, symbols int) (out []byte) {
		for range n {
			out = append(out, byte(random.IntN(symbols)))
		}
		return out
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "a byte": {7}, "two bytes": {1, 2}, "the same byte": bytes.Repeat([]byte{'a'}, 70_000), "noise": noise(5000, 256),
		"few symbols": noise(50_000, 3), "a far match": append(noise(window, 256), noise(10, 256)...), "periods": []byte(strings.Repeat("abcdefgh", 5000)),
		"many symbols, rarely": append(noise(2000, 256), bytes.Repeat([]byte("ab"), 1<<16)...),
	} {
		t.Run(name, func(t *testing.T) { unzip(t, Gzip(data), data) })
	}
}

// TestSize requires that scripts become smaller than with the best level of another encoder.
func TestSize(t *testing.T) {
	scripts, err := filepath.Glob("../console/web/js/pages/*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatal("there are no scripts", err)
	}
	var data []byte
	for _, name := range scripts {
		script, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, script...)
	}
	var other bytes.Buffer
	w, err := gzip.NewWriterLevel(&other, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	out := Gzip(data)
	unzip(t, out, data)
	if t.Logf("%d bytes, otherwise %d", len(out), other.Len()); len(out) > other.Len()*98/100 {
		t.Errorf("%d bytes, want at most 98%% of %d", len(out), other.Len())
	}
}

func unzip(t *testing.T, compressed, want []byte) {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d: %v", len(got), len(want), err)
	}
}
