package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"unicode/utf8"
)

// maxLogLine is the maximum length of a log line in bytes, with its line break. Collectors of logs split
// or drop longer ones.
const maxLogLine = 8 << 10

// lineHandler cuts long values of a line that would exceed maxLogLine, and adds cut=true to it. All other
// attributes stay, and a line in JSON stays valid JSON.
type lineHandler struct {
	slog.Handler // writes to lines
	lines        *logLines
}

// logLines holds one line until its length is known.
type logLines struct {
	mu   sync.Mutex
	line bytes.Buffer
	to   io.Writer
}

// NewLogHandler returns a handler that writes lines of at most 8 KiB to w, in the format json or text.
func NewLogHandler(w io.Writer, format string, level slog.Level) slog.Handler {
	lines, options := &logLines{to: w}, &slog.HandlerOptions{Level: level}
	if format == "json" {
		return &lineHandler{slog.NewJSONHandler(&lines.line, options), lines}
	}
	return &lineHandler{slog.NewTextHandler(&lines.line, options), lines}
}

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lineHandler{h.Handler.WithAttrs(attrs), h.lines}
}

func (h *lineHandler) WithGroup(name string) slog.Handler {
	return &lineHandler{h.Handler.WithGroup(name), h.lines}
}

func (h *lineHandler) Handle(ctx context.Context, full slog.Record) error {
	h.lines.mu.Lock()
	defer h.lines.mu.Unlock()
	r := full
	for limit := maxLogLine / 2; ; limit /= 2 {
		h.lines.line.Reset()
		if err := h.Handler.Handle(ctx, r); err != nil {
			return err
		}
		if h.lines.line.Len() <= maxLogLine || limit == 0 {
			_, err := h.lines.to.Write(h.lines.line.Bytes())
			return err
		}
		r = cutRecord(full, limit)
	}
}

// cutRecord returns a record whose message and values have at most limit bytes each.
func cutRecord(full slog.Record, limit int) slog.Record {
	r := slog.NewRecord(full.Time, full.Level, cutText(full.Message, limit), full.PC)
	full.Attrs(func(a slog.Attr) bool {
		r.AddAttrs(cutAttr(a, limit))
		return true
	})
	r.AddAttrs(slog.Bool("cut", true))
	return r
}

func cutAttr(a slog.Attr, limit int) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString, slog.KindAny:
		if text := fmt.Sprint(v.Any()); len(text) > limit {
			return slog.String(a.Key, cutText(text, limit))
		}
	case slog.KindGroup:
		group := make([]slog.Attr, len(v.Group()))
		for i, member := range v.Group() {
			group[i] = cutAttr(member, limit)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	}
	return a
}

// cutText returns at most limit bytes of s, without a part of a character at the end, and an ellipsis.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
