package mail

import (
	"slices"
	"strings"
)

// troubleStages are those at which trouble is met; its text begins with one.
var troubleStages = []string{"connect", "TLS", "greeting", "EHLO", "STARTTLS", "login", "RSET", "MAIL FROM"}

// Stage is at which stage trouble was met; empty when it was at none. It can be told to anybody: the rest of the text may be in the
// words of the server, which repeats addresses and names.
func (r Result) Stage() string {
	stage, _, _ := strings.Cut(r.Text, ": ")
	if slices.Contains(troubleStages, stage) {
		return stage
	}
	return ""
}
