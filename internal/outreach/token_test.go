package outreach

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"prospector/internal/fault"
)

// textBlocks are the blocks of the texts here, and textValues what tokens stand for: much that would mean something in a text.
var (
	textBlocks = map[string]Block{"x": {Name: "X", Content: "<{{recipient.email}}|{{ sender.title }}>"}, "empty": {Name: "E"}}
	textSizes  = map[string]size{"x": {}, "empty": {}}
	textValues = func() (v values) {
		for i := range tokens {
			v.set(i, []string{"{{sender.email}}", "[[block:x]]", "{{", "]]", "}}[[block:", "<b>&amp;\"", "a\r\nb", "$1", ""}[i])
		}
		return v
	}()
)

// knownPiece finds the tokens and blocks of a text in which nothing is wrong.
var knownPiece = regexp.MustCompile(`\{\{[\t\n\v\f\r\x{85}\p{Z}]*(` + strings.ReplaceAll(strings.Join(tokenNames[:], "|"), ".", `\.`) + `)[\t\n\v\f\r\x{85}\p{Z}]*\}\}|\[\[block:[\t\n\v\f\r\x{85}\p{Z}]*(x|empty)[\t\n\v\f\r\x{85}\p{Z}]*\]\]`)

// plainly renders a text in which nothing is wrong, by other means.
func plainly(text string, missing *[]string) string {
	return knownPiece.ReplaceAllStringFunc(text, func(raw string) string {
		found := knownPiece.FindStringSubmatch(raw)
		if found[2] != "" {
			return plainly(string(textBlocks[found[2]].Content), missing)
		}
		at := slices.Index(tokenNames[:], found[1])
		value := textValues.message[at][plain]
		if value == "" && !slices.Contains(*missing, found[1]) {
			*missing = append(*missing, found[1])
		}
		return value
	})
}

// holdText holds what parse and render make of a text against what they promise.
func holdText(t *testing.T, text string) {
	t.Helper()
	var joined strings.Builder
	pieces := parse(text)
	for i, p := range pieces {
		joined.WriteString(p.raw)
		opens := strings.Contains(p.raw, tokenOpen) || strings.Contains(p.raw, blockOpen)
		switch {
		case p.raw == "":
			t.Fatalf("%q has an empty piece", text)
		case p.kind == textPiece && (opens || p.text != p.raw):
			t.Fatalf("%q has the text %q", text, p.raw)
		case p.kind == tokenPiece && (!strings.HasPrefix(p.raw, "{{") || !strings.HasSuffix(p.raw, "}}") || p.text != strings.TrimSpace(p.raw[2:len(p.raw)-2]) || strings.Contains(p.text, "}}")):
			t.Fatalf("%q has the token %q", text, p.raw)
		case p.kind == blockPiece && (!strings.HasPrefix(p.raw, "[[block:") || !strings.HasSuffix(p.raw, "]]") || p.text != strings.TrimSpace(p.raw[8:len(p.raw)-2]) || strings.Contains(p.text, "]]")):
			t.Fatalf("%q has the block %q", text, p.raw)
		case p.kind == openPiece && (i != len(pieces)-1 || !strings.HasPrefix(p.raw, p.text) || p.text != "{{" && p.text != "[[block:"):
			t.Fatalf("%q has the open piece %q", text, p.raw)
		}
	}
	if joined.String() != text {
		t.Fatalf("the pieces of %q are %q", text, joined.String())
	}
	if !utf8.ValidString(text) { // which nobody can write
		return
	}
	var p fault.Problems
	checkText("t", text, textSizes, "", &p)
	got, missing := newText(text, textBlocks).render([]byte("before "), plain, &textValues.message, []string{})
	// Quoted it is the same.
	var unquoted string
	inQuotes, alsoMissing := newText(text, textBlocks).render([]byte(`"before `), quoted, &textValues.message, []string{})
	if err := json.Unmarshal(append(inQuotes, '"'), &unquoted); err != nil || unquoted != string(got) || !slices.Equal(alsoMissing, missing) {
		t.Fatalf("%q is %q, and quoted %q: %v", text, got, inQuotes, err)
	}
	switch {
	case len(pieces) == 0 || len(pieces) == 1 && pieces[0].kind == textPiece: // nothing stands for something else
		if string(got) != "before "+text || p.Err() != nil {
			t.Fatalf("%q is rendered as %q (%v)", text, got, p.Err())
		}
	case p.Err() == nil:
		wantMissing := []string{}
		if want := plainly(text, &wantMissing); string(got) != "before "+want || !slices.Equal(missing, wantMissing) {
			t.Fatalf("%q is rendered as %q without %q, want %q without %q", text, got, missing, want, wantMissing)
		}
	}
	// Without blocks, and with tokens that stand for themselves, a text stays as it is but for the spaces in braces.
	var same values
	for i, name := range tokenNames {
		same.set(token(i), "{{"+name+"}}")
	}
	again, _ := newText(text, nil).render(nil, plain, &same.message, nil)
	var want strings.Builder
	for _, p := range pieces {
		if p.kind == tokenPiece && isToken(p.text) {
			p.raw = "{{" + p.text + "}}"
		}
		want.WriteString(p.raw)
	}
	if string(again) != want.String() {
		t.Fatalf("%q stays %q, want %q", text, again, want.String())
	}
	// With the values of a subject, a text of one line stays one.
	line, _ := newText(text, textBlocks).render([]byte("before "), plain, &textValues.subject, nil)
	if !strings.ContainsAny(text, "\r\n") && string(line) != strings.NewReplacer("\r", " ", "\n", " ").Replace(string(got)) {
		t.Fatalf("%q is the subject %q", got, line)
	}
}

var textSeeds = []string{"", "Hello", "Hi {{recipient.first_name}},", "{{ sender.title }}{{sender.email}}", "{{first_name}}", "{{", "}}", "{{}}", "{{{recipient.email}}}", "[[block:x]]", "[[block: x ]]", "[[block:empty]][[block:nope]]",
	"[[block:{{recipient.email}}]]", "{{[[block:x]]}}", "[[block:", "{{recipient.email", "a { { b } } [ [block:x] ]", "{{\u00a0recipient.company\u2003}}", "\xff{{\xffsender.email}}", "{{sender.email}}}}", "[[[block:x]]]", "{{recipient.email}}\r\n[[block:x]]"}

func FuzzText(f *testing.F) {
	for _, text := range textSeeds {
		f.Add(text)
	}
	f.Fuzz(holdText)
}

// TestTexts makes texts of what means something in them.
func TestTexts(t *testing.T) {
	parts := []string{"{{", "}}", "{", "}", "[[block:", "[[", "]]", "]", "x", "empty", "nope", " ", "\n", "\u00a0", "recipient.email", "sender.title", "sender.company", "{{recipient.first_name}}", "{{ sender.email }}", "{{sender.email}}", "[[block:x]]", "[[block: empty]]", "ü", "."}
	r := rand.New(rand.NewPCG(8, 2))
	sound := 0
	for range 20_000 {
		var text strings.Builder
		for range r.IntN(9) {
			text.WriteString(parts[r.IntN(len(parts))])
		}
		holdText(t, text.String())
		var p fault.Problems
		if checkText("t", text.String(), textSizes, "", &p); p.Err() == nil && strings.Contains(text.String(), "{{") {
			sound++
		}
	}
	if sound < 500 {
		t.Errorf("only %d texts had tokens and nothing wrong", sound)
	}
}

func TestReply(t *testing.T) {
	for subject, want := range map[string]string{"Hi": "Re: Hi", "Re: Hi": "Re: Hi", "RE: Hi": "RE: Hi", "re: ": "re: ", "Re": "Re: Re", "Regarding": "Re: Regarding", "é": "Re: é", "AW: Hi": "Re: AW: Hi"} {
		if got := replyTo(subject); got != want {
			t.Errorf("the reply to %q is %q, want %q", subject, got, want)
		}
	}
}

// TestTokens wants the nine tokens of the API, each with a value of its own.
func TestTokens(t *testing.T) {
	if got, want := fmt.Sprint(tokenNames), "[recipient.first_name recipient.last_name recipient.company recipient.email sender.first_name sender.last_name sender.company sender.title sender.email]"; got != want {
		t.Errorf("the tokens are %s, want %s", got, want)
	}
	for _, name := range []string{"", "recipient", "recipient.", "first_name", "Recipient.email", "recipient.title", "sender.phone", " sender.email"} {
		if isToken(name) {
			t.Errorf("%q is a token", name)
		}
	}
}
