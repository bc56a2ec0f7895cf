package rows

import (
	"bufio"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
)

const (
	// stringsPerBlock is how many strings are read from the disk at once.
	stringsPerBlock = 64
	// maxCached is how many bytes of blocks are kept in memory.
	maxCached = 8 << 20
)

// stringTable has the texts of a spreadsheet, which its cells refer to by number. They may be as many as its cells, so they
// are stored in a temporary file, in blocks. Cells refer to most texts in their order, so that few blocks are read twice.
type stringTable struct {
	file   *os.File
	blocks []int64 // where each block begins
	count  int
	size   int64

	cached map[int][]string
	bytes  int
}

// read stores the texts of a part.
func (t *stringTable) read(w *workbook, name string) (err error) {
	if w.files[name] == nil {
		return nil
	}
	if t.file, err = os.CreateTemp("", "import-*.strings"); err != nil {
		return err
	}
	out := bufio.NewWriterSize(t.file, 1<<16)
	x, err := w.open(name)
	if err != nil {
		return err
	}
	for {
		token, err := x.next()
		if err != nil {
			return truncated(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if e.Name.Local != "si" {
				continue
			}
			text, err := x.textIn("si")
			if err == nil {
				err = t.add(out, text)
			}
			if err != nil {
				return err
			}
		case xml.EndElement:
			if e.Name.Local == "sst" {
				return out.Flush()
			}
		}
	}
}

func (t *stringTable) add(out *bufio.Writer, text []byte) error {
	if t.count%stringsPerBlock == 0 {
		t.blocks = append(t.blocks, t.size)
	}
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(text)))
	t.count, t.size = t.count+1, t.size+int64(n+len(text))
	_, err1 := out.Write(length[:n])
	_, err2 := out.Write(text)
	return errors.Join(err1, err2)
}

// get returns a text by its number.
func (t *stringTable) get(i int) (string, error) {
	if i < 0 || i >= t.count {
		return "", fmt.Errorf("the spreadsheet is damaged: a cell refers to text %d, but there are %d", i, t.count)
	}
	block, cached := t.cached[i/stringsPerBlock]
	if !cached {
		var err error
		if block, err = t.load(i / stringsPerBlock); err != nil {
			return "", err
		}
	}
	return block[i%stringsPerBlock], nil
}

// load reads a block, and forgets the others if they take too much memory.
func (t *stringTable) load(n int) ([]string, error) {
	end := t.size
	if n+1 < len(t.blocks) {
		end = t.blocks[n+1]
	}
	raw := make([]byte, end-t.blocks[n])
	if _, err := t.file.ReadAt(raw, t.blocks[n]); err != nil {
		return nil, err
	}
	if t.bytes += len(raw); t.cached == nil || t.bytes > maxCached {
		t.cached, t.bytes = map[int][]string{}, len(raw)
	}
	var block []string
	for len(raw) > 0 {
		length, n := binary.Uvarint(raw)
		block = append(block, unescapeXML(string(raw[n:n+int(length)])))
		raw = raw[n+int(length):]
	}
	t.cached[n] = block
	return block, nil
}

func (t *stringTable) close() {
	if t.file != nil {
		_ = t.file.Close()
		_ = os.Remove(t.file.Name())
	}
}
