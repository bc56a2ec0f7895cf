package admin

import "io"

// Progress receives how much of the work is done.
type Progress func(done, total int)

// Unit is what Progress counts.
type Unit int

// The units of progress.
const (
	Records Unit = iota
	Bytes
)

func (u Unit) String() string {
	if u == Bytes {
		return "bytes"
	}
	return "records"
}

// Throttle reports progress only when it has grown by a thousandth of the total.
func Throttle(report Progress) Progress {
	last := -1
	return func(done, total int) {
		if total <= 0 {
			return
		}
		if part := int(1000 * float64(done) / float64(total)); part != last {
			last = part
			report(done, total)
		}
	}
}

// progressReader reports how much of a file was read.
type progressReader struct {
	io.Reader
	size   int
	done   int
	report Progress
}

func (r *progressReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.done += n
	r.report(r.done, r.size)
	if err != nil && err != io.EOF {
		err = unreadable{err}
	}
	return n, err
}

// unreadable is the error of a file that cannot be read, as opposed to one with invalid content.
type unreadable struct{ error }

func (u unreadable) Error() string { return "the file cannot be read: " + u.error.Error() }
