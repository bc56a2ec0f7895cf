package mail

import (
	"slices"
	"strings"
)

// connectStages are the stages at which the server can be unavailable. The text of such a result
// starts with one.
var connectStages = []string{"connect", "TLS", "greeting", "EHLO", "STARTTLS", "login", "RSET", "MAIL FROM"}

// Stage returns the stage at which the server was unavailable, or "". It can be shown to anybody.
// The rest of the text may be the answer of the server, which may repeat addresses and names.
func (r Result) Stage() string {
	stage, _, _ := strings.Cut(r.Text, ": ")
	if slices.Contains(connectStages, stage) {
		return stage
	}
	return ""
}
