package cmd

import (
	"fmt"
	"io"
	"strings"

	"prospector/internal/admin"
)

// showProgress shows a bar on a terminal, and elsewhere a line for each tenth of the work. finish
// ends the bar.
func showProgress(w io.Writer, unit string) (report admin.Progress, finish func()) {
	terminal := isTerminal(w)
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
