package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// progress is told how much of the work is done.
type progress func(done, total int)

// What is counted.
const (
	inRecords = "records"
	inBytes   = "bytes"
)

// showProgress shows a bar on a terminal, and elsewhere a line for each tenth of the work. finish ends the bar.
func showProgress(w io.Writer, unit string) (report progress, finish func()) {
	terminal := false
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	const width = 40
	tenth, drawn := -1, false
	report = func(done, total int) {
		if total <= 0 {
			return
		}
		part := float64(min(done, total)) / float64(total)
		switch {
		case terminal:
			full := int(part * width)
			fmt.Fprintf(w, "\r[%s%s] %3.0f%% %d of %d %s", strings.Repeat("#", full), strings.Repeat(" ", width-full), 100*part, done, total, unit)
			drawn = true
		case int(10*part) > tenth:
			tenth = int(10 * part)
			fmt.Fprintf(w, "%d of %d %s\n", done, total, unit)
		}
	}
	return report, func() {
		if drawn {
			fmt.Fprintln(w)
		}
	}
}

// seldom passes on what is a thousandth more than before, or the end.
func seldom(report progress) progress {
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

// watched tells how much of a file was read.
type watched struct {
	io.Reader
	size   int
	done   int
	report progress
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.done += n
	w.report(w.done, w.size)
	if err != nil && err != io.EOF {
		err = unreadable{err}
	}
	return n, err
}

// unreadable is a file that cannot be read, as opposed to one that is wrong.
type unreadable struct{ error }

func (u unreadable) Error() string { return "the file cannot be read: " + u.error.Error() }
