package openai

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"prospector/internal/crm"
	"prospector/internal/research"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

func TestAnswers(t *testing.T) {
	long := strings.Repeat("é", maxTextLength)
	const unknown = `status "unanswered", reason "not_known"`
	invalid := failed("invalid_answer")
	values := []string{"Direct", "Partners", "unknown", "us", "US"}
	content := ""
	b := newTestServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, replyWith(content)) })
	for kind, tries := range map[crm.DataType]map[string]string{
		crm.BooleanField: {
			`true`: "true", `false`: "false", `null`: unknown, `"Unknown."`: unknown, `""`: unknown, `"N/A"`: unknown,
			`"true"`: invalid, `1`: invalid, `0`: invalid, `[true]`: invalid, `{"value":true}`: invalid, `"yes"`: invalid, `[]`: invalid,
		},
		crm.NumberField: {
			`42`: "42", `-1.50`: "-1.5", `1e3`: "1000", `-0`: "0", `9007199254740992`: "9007199254740992", `null`: unknown, `"not known"`: unknown,
			`"42"`: invalid, `1e999`: invalid, `9007199254740993`: invalid, `true`: invalid, `[42]`: invalid, `"1,000"`: invalid,
		},
		crm.TextField: {
			`"They sell."`: `"They sell."`, `" spaces\n"`: `"spaces"`, `"` + long + `"`: `"` + long + `"`, `"<b>&"`: `"\u003cb\u003e\u0026"`,
			`"  "`: unknown, `"\u000b"`: unknown, `"unknown"`: unknown, `"unknown to most"`: `"unknown to most"`,
			`"` + long + `x"`: invalid, `"a\u0000b"`: invalid, `7`: invalid, `true`: invalid, `["a"]`: invalid, `{}`: invalid,
		},
		crm.DateField: {
			`"2024-02-29"`: `"2024-02-29"`, `null`: unknown, `"unknown"`: unknown,
			`"2023-02-29"`: invalid, `"2024"`: invalid, `"2024-2-9"`: invalid, `"2024-02-29T00:00:00Z"`: invalid, `20240229`: invalid,
		},
		crm.EnumField: {
			`"Direct"`: `"Direct"`, `"DIRECT"`: `"Direct"`, `"unknown"`: `"unknown"`, `"Unknown"`: `"unknown"`, `"us"`: `"us"`, `"US"`: `"US"`, `null`: unknown, `"n/a"`: unknown,
			`"Us"`: invalid, `"Retail"`: invalid, `"Direct "`: invalid, `["Direct"]`: invalid, `0`: invalid, `{"Direct":true}`: invalid,
		},
		crm.MultiSelectField: {
			`["Partners","direct","Partners","DIRECT"]`: `["Partners","Direct"]`, `["unknown"]`: `["unknown"]`, `[]`: unknown, `null`: unknown,
			`["Direct","Retail"]`: invalid, `["Direct",1]`: invalid, `["Direct",null]`: invalid, `"Direct"`: invalid, `{"Direct":true}`: invalid, `[["Direct"]]`: invalid,
		},
		"geography": {`"x"`: invalid, `true`: invalid},
	} {
		q := research.Question{Text: "?", Type: kind}
		if kind == crm.EnumField || kind == crm.MultiSelectField {
			q.Allowed = values
		}
		for answer, want := range tries {
			if want != unknown && want != invalid {
				want = "answer " + want + `, source "openai:small"`
			}
			content = `{"answer":` + answer + `}`
			if got := b.ask(q); got != want {
				t.Errorf("%s %.60s: %.200s, want %.200s", kind, answer, got, want)
			}
		}
	}
	for beside, want := range map[string]string{
		`"confidence":0,"evidence":""`:                                       `, confidence 0`,
		`"confidence":1,"evidence":null`:                                     `, confidence 1`,
		`"confidence":1.01,"evidence":" \u0000\u001b[31mred\u0007\n\tink "`:  `, evidence "\u005b31mred  ink"`,
		`"confidence":-0.1,"evidence":["a"]`:                                 ``,
		`"confidence":"0.5","evidence":7`:                                    ``,
		`"confidence":1e999,"evidence":"` + strings.Repeat("é", 401) + `"`:   `, evidence "` + strings.Repeat("é", 399) + `…"`,
		`"evidence":"` + strings.Repeat("é", 400) + `"`:                      `, evidence "` + strings.Repeat("é", 400) + `"`,
		`"status":"failed","source":"oracle","reason":"x","is_qualified":{}`: ``, // unknown members are ignored
	} {
		content = `{"answer":true,` + beside + `}`
		if got := b.ask(yesQuestion); got != "answer true"+want+`, source "openai:small"` {
			t.Errorf("%.60s: %s, want %s", beside, got, want)
		}
	}
	content = `{"confidence": 1}`
	if got := b.ask(yesQuestion); got != invalid {
		t.Errorf("without an answer: %s", got)
	}
}

// TestReplies covers replies that are not plain answers.
func TestReplies(t *testing.T) {
	invalid, refused, cutOff := failed("invalid_answer"), failed("refused"), failed("cut_off")
	part := func(kind, text string) map[string]string { return map[string]string{"type": kind, "text": text} }
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	body := ""
	b := newTestServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
	for name, c := range map[string]struct{ body, want string }{
		"plain":                     {replyWith(trueReply), trueShown},
		"in parts":                  {replyWith([]any{part("reasoning", `{"answer": false}`), part("text", trueReply[:9]), part("text", trueReply[9:])}), trueShown},
		"in a fence":                {replyWith("```json\n" + trueReply + "\n```\n"), trueShown},
		"after thoughts":            {replyWith(`<think>Is it {"answer": false}? </think>` + "\n" + trueReply), trueShown},
		"after thoughts, half told": {replyWith(`{"answer": false} no </think>` + trueReply), trueShown},
		"in prose":                  {replyWith("Well {it seems}, { so }:\n\n" + trueReply + "\nHope this helps }:"), trueShown},
		"twice the same":            {replyWith(trueReply + "\n" + trueReply), trueShown},
		"in a list":                 {replyWith("[" + trueReply + "]"), trueShown},
		"whole at the limit":        {replyEnding(trueReply, "length"), trueShown},
		"other members":             {`{"choices":[{"message":{"content":` + quoteJSON(trueReply) + `,"tool_calls":[]}},{"message":null}],"x":{"y":[]}}`, trueShown},

		"two answers":             {replyWith(`{"answer": true} {"answer": false}`), invalid},
		"the same key twice":      {replyWith(`{"answer": true, "answer": true}`), invalid},
		"a broken one around":     {replyWith(`{"answer": true, "x": y, "z": {"answer": false}}`), invalid},
		"no JSON around":          {replyWith(`{answer: true, "y": {"a": 1}, "z": {"answer": false}}`), invalid},
		"a brace around":          {replyWith(`{ ` + trueReply), invalid},
		"no JSON":                 {replyWith(`{'answer': true}`), invalid},
		"a brace at the end":      {replyWith(trueReply + ` {:`), trueShown},
		"a lone brace":            {replyWith(trueReply + ` {`), invalid},
		"a cut one around":        {replyWith(`{"answer": true, "z": {"answer": false}`), invalid},
		"still thinking":          {replyWith(`Hm. <think> {"answer": true}`), invalid},
		"thinking to the limit":   {replyEnding(`<think> {"answer": true}`, "length"), cutOff},
		"cut off":                 {replyEnding(`{"answer": tr`, "length"), cutOff},
		"cut off at once":         {replyEnding("", "length"), cutOff},
		"filtered":                {replyEnding(trueReply, "content_filter"), refused},
		"refused":                 {`{"choices":[{"message":{"content":null,"refusal":"I cannot talk of chocolate."},"finish_reason":"stop"}]}`, refused},
		"refused in a part":       {replyWith([]any{part("refusal", "no")}), refused},
		"prose":                   {replyWith("Yes, they make chocolate."), invalid},
		"only true":               {replyWith("true"), invalid},
		"content null":            {replyWith(nil), invalid},
		"content a number":        {replyWith(7), invalid},
		"content an object":       {replyWith(map[string]bool{"answer": true}), invalid},
		"no content":              {`{"choices":[{"message":{}}]}`, invalid},
		"no choices":              {`{"choices":[]}`, invalid},
		"choices null":            {`{"choices":null}`, invalid},
		"choices of another kind": {`{"choices":{"0":{}}}`, invalid},
		"nothing":                 {``, invalid},
		"an empty object":         {`{}`, invalid},
		"an error that is none":   {`{"error":{"message":"overloaded"}}`, invalid},
		"a stream":                {"data: " + replyWith(trueReply) + "\n\ndata: [DONE]\n", invalid},
		"HTML":                    {"<!doctype html><title>Log in</title>", invalid},
		"two replies":             {replyWith(trueReply) + replyWith(trueReply), invalid},
		"a reply with a key twice": {
			`{"choices":[],"choices":[{"message":{"content":"{\"answer\":true}"}}]}`, invalid},
		"a reply cut short":      {replyWith(trueReply)[:40], invalid},
		"NUL":                    {"\x00\x00\x00", invalid},
		"not UTF-8":              {`{"choices":[{"message":{"content":"{\"answer\":true,\"evidence\":\"` + "\xff\xfe" + `\"}"}}]}`, invalid},
		"half a surrogate":       {`{"choices":[{"message":{"content":"{\"answer\":true,\"evidence\":\"\ud800\"}"}}]}`, invalid},
		"deep":                   {deep, invalid},
		"deep beside":            {`{"x":` + deep + `,` + replyWith(trueReply)[1:], invalid},
		"deep in the answer":     {replyWith(`{"answer":` + deep + `}`), invalid},
		"as large as may be":     {replyWith(trueReply) + strings.Repeat(" ", maxBodyBytes-len(replyWith(trueReply))), trueShown},
		"a byte too large":       {replyWith(trueReply) + strings.Repeat(" ", maxBodyBytes+1-len(replyWith(trueReply))), failed("answer_too_large")},
		"megabytes":              {strings.Repeat("chocolate", 1<<20), failed("answer_too_large")},
		"many objects":           {replyWith("x" + strings.Repeat(`{}`, maxBodyBytes/2-200)), invalid},
		"many braces":            {replyWith(strings.Repeat(`{ `, maxBodyBytes/2-200)), invalid},
		"many beginnings":        {replyWith(strings.Repeat(`{"a":`, maxBodyBytes/8)), invalid},
		"many choices":           {`{"choices":[` + strings.Repeat(`{},`, maxBodyBytes/4) + `{}]}`, invalid},
		"many values":            {replyWith(`{"answer":[` + strings.Repeat(`[],`, maxBodyBytes/4) + `[]]}`), invalid},
		"many different objects": {replyWith("x" + strings.Repeat(`{"a":1}{"a":2}`, 1000)), invalid},
	} {
		body = c.body
		if got := b.ask(yesQuestion); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if len(b.waits) > 0 {
		t.Errorf("waited %v although another try cannot help", b.waits)
	}
}

// TestGzip checks that the size limit applies after decompression.
func TestGzip(t *testing.T) {
	packed := func(write func(w io.Writer)) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		write(w)
		w.Close()
		return b.Bytes()
	}
	var body []byte
	b := newTestServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(body)
	})
	for _, c := range []struct {
		name, want string
		body       []byte
	}{
		{"an answer", trueShown, packed(func(w io.Writer) { io.WriteString(w, replyWith(trueReply)) })},
		{"a bomb", failed("answer_too_large"), packed(func(w io.Writer) {
			for range 8 {
				w.Write(make([]byte, 1<<20))
			}
		})},
		{"garbage", failed("connection_broken"), []byte("chocolate")},
	} {
		body = c.body
		if got := b.ask(yesQuestion); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// FuzzAnswer lets a model write anything. An accepted answer has the type of the question.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		trueReply, "```json\n" + trueReply + "```", `<think>{</think>{"answer":"a"}`, `{"answer":["A","b"]}`, `{"answer":1e5}`, `{"answer":"2024-02-29"}`,
		`{"answer":null}`, `{} {}`, `{"answer":true}{"answer":false}`, `{"a`, `{{{{`, "\x00", `{"answer":"\u0000","evidence":"\u001b"}`, `{"answer":-0.0,"confidence":2}`, `{"answer":"\u000b"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, kind := range []crm.DataType{crm.TextField, crm.NumberField, crm.BooleanField, crm.DateField, crm.EnumField, crm.MultiSelectField} {
			q := research.Question{Type: kind}
			if kind == crm.EnumField || kind == crm.MultiSelectField {
				q.Allowed = []string{"a", "B"}
			}
			got, reason := readAnswer(q, []byte(replyWith(content)))
			switch reason {
			case "":
				checkReply(t, kind, got)
			case reasonNotKnown, reasonInvalid:
			default:
				t.Errorf("%s: %s", kind, reason)
			}
		}
	})
}

// checkReply decodes an answer like a caller does.
func checkReply(t *testing.T, kind crm.DataType, got research.Qualification) {
	t.Helper()
	var err error
	answer := []byte(quoteJSON(got.Answer))
	allowed := func(s string) {
		if s != "a" && s != "B" {
			err = fmt.Errorf("%q is not allowed", s)
		}
	}
	switch kind {
	case crm.TextField:
		var s string
		if err = json.Unmarshal(answer, &s); s == "" || len([]rune(s)) > maxTextLength || strings.Contains(s, "\x00") {
			t.Errorf("text %q", s)
		}
	case crm.NumberField:
		err = json.Unmarshal(answer, new(float64))
	case crm.BooleanField:
		err = json.Unmarshal(answer, new(bool))
	case crm.DateField:
		_, err = time.Parse(`"`+time.DateOnly+`"`, string(answer))
	case crm.EnumField:
		var s string
		if err = json.Unmarshal(answer, &s); err == nil {
			allowed(s)
		}
	case crm.MultiSelectField:
		var list []string
		if err = json.Unmarshal(answer, &list); err == nil && len(list) == 0 {
			t.Error("an empty list")
		}
		for _, s := range list {
			allowed(s)
		}
	}
	if err != nil {
		t.Errorf("%s %s: %v", kind, answer, err)
	}
	if c := got.Confidence; c.Valid && !(c.Float >= 0 && c.Float <= 1) {
		t.Errorf("confidence %v", c.Float)
	}
	if e := []rune(got.Evidence); len(e) > maxEvidenceLength || strings.ContainsFunc(string(e), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("evidence %q", string(e))
	}
}
