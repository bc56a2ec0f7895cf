package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestLongLogLines checks that no line exceeds the limit, that a long line keeps its other attributes and
// says that it was cut, and that a line in JSON can be decoded.
func TestLongLogLines(t *testing.T) {
	const limit = 8 << 10
	long := strings.Repeat("é", limit)
	for name, args := range map[string][]any{
		"text":            {"first", "a", "value", long, "last", "z"},
		"escaped":         {"first", "a", "value", strings.Repeat("\x00\"", limit), "last", "z"},
		"invalid UTF-8":   {"first", "a", "value", strings.Repeat("\xff", 2*limit), "last", "z"},
		"error":           {"first", "a", "value", errors.New(long), "last", "z"},
		"list":            {"first", "a", "value", []string{long, long}, "last", "z"},
		"group":           {"first", "a", slog.Group("value", "inner", long, "n", 1), "last", "z"},
		"several":         {"first", "a", "value", long, "second", long, "third", long, "last", "z"},
		"exactly too big": {"first", "a", "value", strings.Repeat("x", limit), "last", "z"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, format := range []string{"json", "text"} {
				var out bytes.Buffer
				log := slog.New(NewLogHandler(&out, format, slog.LevelInfo)).With("always", "here")
				log.Info("long", args...)
				log.Info("short", "value", "x")
				first, second, _ := strings.Cut(out.String(), "\n")
				if len(first)+1 > limit || len(first) < limit/8 {
					t.Errorf("%s: the line has %d bytes", format, len(first)+1)
				}
				if strings.Contains(second, "cut") {
					t.Errorf("%s: a short line was cut: %s", format, second)
				}
				if format == "text" {
					if !strings.Contains(first, "msg=long always=here first=a ") || !strings.HasSuffix(first, " last=z cut=true") {
						t.Errorf("text: %s", first)
					}
					continue
				}
				var line struct {
					Msg, Always, First, Last string
					Cut                      bool
				}
				if err := json.Unmarshal([]byte(first), &line); err != nil {
					t.Fatal(err)
				}
				if line.Msg != "long" || line.Always != "here" || line.First != "a" || line.Last != "z" || !line.Cut {
					t.Errorf("json: %+v", line)
				}
			}
		})
	}
}

// TestLongLogMessage checks that a message is cut too.
func TestLongLogMessage(t *testing.T) {
	var out bytes.Buffer
	slog.New(NewLogHandler(&out, "text", slog.LevelInfo)).Info(strings.Repeat("x", 20_000), "last", "z")
	if line := out.String(); len(line) > 8<<10 || !strings.HasSuffix(line, "… last=z cut=true\n") {
		t.Errorf("%d bytes: %s", len(line), line)
	}
}
