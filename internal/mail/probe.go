package mail

import (
	"context"
	"slices"
	"strings"
)

// StageResult is the result of one stage of a probe.
type StageResult struct {
	Stage  string `json:"stage"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Probe connects to the server, encrypts and logs in, and sends a message if m is not nil. It
// returns the stages up to the first that failed.
func (s *SMTP) Probe(ctx context.Context, m *Message) []StageResult {
	stages := s.probe(ctx, m)
	for i := range stages {
		stages[i].Detail = singleLine(s.redact.Replace(stages[i].Detail))
	}
	return stages
}

func (s *SMTP) probe(ctx context.Context, m *Message) (stages []StageResult) {
	if s.invalid != nil {
		return []StageResult{{"settings", false, s.invalid.Error()}}
	}
	c, err := open(ctx, &s.options)
	failed, detail := "", ""
	if err != nil {
		failed, detail, _ = strings.Cut(err.Error(), ": ")
	}
	for _, stage := range s.options.stages() {
		if stage == failed {
			return append(stages, StageResult{stage, false, detail})
		}
		stages = append(stages, StageResult{stage, true, ""})
	}
	defer c.quit()
	if m == nil {
		return stages
	}
	r, _ := s.sendProbe(ctx, c, m)
	return append(stages, StageResult{"message", r.Status == Sent, r.Text})
}

func (s *SMTP) sendProbe(ctx context.Context, c *conn, m *Message) (Result, bool) {
	if err := m.Check(); err != nil {
		return Result{Rejected, err.Error()}, false
	}
	defer context.AfterFunc(ctx, c.cut)()
	return c.send(ctx, m, nil)
}

// stages returns the stages of a connection in their order.
func (o *Options) stages() []string {
	return slices.DeleteFunc([]string{"connect", "TLS", "greeting", "EHLO", "STARTTLS", "login"}, func(stage string) bool {
		return stage == "TLS" && o.TLS != TLS || stage == "STARTTLS" && o.TLS != StartTLS || stage == "login" && o.Username == ""
	})
}
