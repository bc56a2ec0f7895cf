package template

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"prospector/internal/fault"
)

// The blocks and values of the texts in these tests. The values contain what would have a meaning
// in a template.
var (
	testBlocks = map[string]Block{
		"x": {Name: "X", Content: "<{{recipient.email}}|{{ sender.title }}>"}, "empty": {Name: "E"},
	}
	testSizes = map[string]textSize{"x": {}, "empty": {}}
	testNames = []string{
		"recipient.first_name", "recipient.last_name", "recipient.company", "recipient.email",
		"sender.first_name", "sender.last_name", "sender.company", "sender.title", "sender.email",
	}
	testValues = map[string]string{
		"recipient.first_name": "{{sender.email}}", "recipient.last_name": "[[block:x]]", "recipient.company": "{{",
		"recipient.email": "]]", "sender.first_name": "}}[[block:", "sender.last_name": "<b>&amp;\"", "sender.company": "a\r\nb",
		"sender.title": "$1", // sender.email has none
	}
)

// testVocabulary has the tokens in testNames.
func testVocabulary(name string) string {
	if slices.Contains(testNames, name) {
		return ""
	}
	return "there is no such token"
}

// parsed parses a text, and returns it with the values of its tokens.
func parsed(s string, blocks map[string]Block, value func(name string) string) (text, *Values) {
	var p parser
	t := p.text(s, blocks)
	v := (&Compiled{Tokens: p.tokens}).NewValues()
	for i, token := range p.tokens {
		v.Set(i, value(token.Name()))
	}
	return t, v
}

func testValue(name string) string { return testValues[name] }

// knownPiece matches the known tokens and blocks of a valid text.
var knownPiece = func() *regexp.Regexp {
	const space = `[\t\n\v\f\r\x{85}\p{Z}]*`
	names := strings.ReplaceAll(strings.Join(testNames, "|"), ".", `\.`)
	return regexp.MustCompile(
		`\{\{` + space + `(` + names + `)` + space + `(\|(?s:.*?))?\}\}|\[\[block:` + space + `(x|empty)` + space + `\]\]`)
}()

// renderByRegexp renders a valid text independently of the parser.
func renderByRegexp(text string, missing *[]string) string {
	return knownPiece.ReplaceAllStringFunc(text, func(raw string) string {
		found := knownPiece.FindStringSubmatch(raw)
		if found[3] != "" {
			return renderByRegexp(string(testBlocks[found[3]].Content), missing)
		}
		value := testValues[found[1]]
		if fallback, has := strings.CutPrefix(found[2], "|"); value == "" && has {
			return strings.TrimSpace(fallback)
		}
		if value == "" && !slices.Contains(*missing, found[1]) {
			*missing = append(*missing, found[1])
		}
		return value
	})
}

// checkPieces checks what parse promises for any text, and returns the pieces.
func checkPieces(t *testing.T, text string) []piece {
	t.Helper()
	var joined strings.Builder
	pieces := parse(text)
	for i, p := range pieces {
		joined.WriteString(p.raw)
		isWrapped := func(open, end string) bool {
			return strings.HasPrefix(p.raw, open) && strings.HasSuffix(p.raw, end) &&
				p.text == strings.TrimSpace(p.raw[len(open):len(p.raw)-len(end)]) && !strings.Contains(p.text, end)
		}
		hasMarker := strings.Contains(p.raw, tokenOpen) || strings.Contains(p.raw, blockOpen)
		switch {
		case p.raw == "":
			t.Fatalf("%q has an empty piece", text)
		case p.kind == literalPiece && (hasMarker || p.text != p.raw):
			t.Fatalf("%q has the literal %q", text, p.raw)
		case p.kind == tokenPiece && !isWrapped("{{", "}}"):
			t.Fatalf("%q has the token %q", text, p.raw)
		case p.kind == blockPiece && !isWrapped("[[block:", "]]"):
			t.Fatalf("%q has the block %q", text, p.raw)
		case p.kind == unclosedPiece && (i != len(pieces)-1 || !strings.HasPrefix(p.raw, p.text) ||
			p.text != "{{" && p.text != "[[block:"):
			t.Fatalf("%q has the unclosed piece %q", text, p.raw)
		}
	}
	if joined.String() != text {
		t.Fatalf("the pieces of %q are %q", text, joined.String())
	}
	return pieces
}

// checkTextPromises checks what parsing and rendering promise for any text.
func checkTextPromises(t *testing.T, text string) {
	t.Helper()
	pieces := checkPieces(t, text)
	if !utf8.ValidString(text) { // the decoder refuses it
		return
	}
	var p fault.Problems
	(&checker{testVocabulary, &p}).text("t", text, testSizes, "")
	parsedText, values := parsed(text, testBlocks, testValue)
	got, missing := parsedText.render(values.message, []string{})

	switch {
	case len(pieces) == 0 || len(pieces) == 1 && pieces[0].kind == literalPiece:
		if got != text || p.Err() != nil {
			t.Fatalf("%q renders as %q (%v)", text, got, p.Err())
		}
	case p.Err() == nil:
		wantMissing := []string{}
		want := renderByRegexp(text, &wantMissing)
		if got != want || !slices.Equal(missing, wantMissing) {
			t.Fatalf("%q renders as %q, missing %q; want %q, missing %q", text, got, missing, want, wantMissing)
		}
	}

	// Without blocks, and with tokens that render as themselves, a text stays as it is except for
	// the spaces and fallbacks inside the braces.
	sameText, same := parsed(text, nil, func(name string) string { return "{{" + name + "}}" })
	again, _ := sameText.render(same.message, nil)
	var want strings.Builder
	for _, p := range pieces {
		if p.kind == tokenPiece {
			name, _, _ := splitToken(p.text)
			p.raw = "{{" + name + "}}"
		}
		want.WriteString(p.raw)
	}
	if again != want.String() {
		t.Fatalf("%q renders as %q, want %q", text, again, want.String())
	}

	// With the values for subjects, a text of one line stays on one line.
	line, _ := parsedText.render(values.subject, nil)
	oneLine := strings.NewReplacer("\r", " ", "\n", " ").Replace(got)
	if !strings.ContainsAny(text, "\r\n") && line != oneLine {
		t.Fatalf("%q has the subject %q", got, line)
	}
}

var textSeeds = []string{
	"", "Hello", "Hi {{recipient.first_name}},", "{{ sender.title }}{{sender.email}}", "{{first_name}}", "{{", "}}", "{{}}",
	"{{{recipient.email}}}", "[[block:x]]", "[[block: x ]]", "[[block:empty]][[block:nope]]", "[[block:{{recipient.email}}]]",
	"{{[[block:x]]}}", "[[block:", "{{recipient.email", "a { { b } } [ [block:x] ]", "{{\u00a0recipient.company\u2003}}",
	"{{sender.email|there}}", "{{ sender.title | }}{{sender.email|}}", "{{sender.email|a|b }}", "{{sender.email|{{}}", "{{x|y}}",
	"\xff{{\xffsender.email}}", "{{sender.email}}}}", "[[[block:x]]]", "{{recipient.email}}\r\n[[block:x]]",
}

func FuzzText(f *testing.F) {
	for _, text := range textSeeds {
		f.Add(text)
	}
	f.Fuzz(checkTextPromises)
}

// TestRandomTexts combines fragments that have a meaning in texts.
func TestRandomTexts(t *testing.T) {
	fragments := []string{
		"{{", "}}", "{", "}", "[[block:", "[[", "]]", "]", "x", "empty", "nope", " ", "\n", "\u00a0", "recipient.email",
		"sender.title", "sender.company", "{{recipient.first_name}}", "{{ sender.email }}", "{{sender.email}}", "[[block:x]]",
		"[[block: empty]]", "ü", ".", "|", "{{sender.email|",
	}
	r := rand.New(rand.NewPCG(8, 2))
	valid := 0
	for range 20_000 {
		var text strings.Builder
		for range r.IntN(9) {
			text.WriteString(fragments[r.IntN(len(fragments))])
		}
		checkTextPromises(t, text.String())
		var p fault.Problems
		(&checker{testVocabulary, &p}).text("t", text.String(), testSizes, "")
		if p.Err() == nil && strings.Contains(text.String(), "{{") {
			valid++
		}
	}
	if valid < 500 {
		t.Errorf("only %d of the random texts were valid and had tokens, want at least 500", valid)
	}
}

func TestReplySubject(t *testing.T) {
	for subject, want := range map[string]string{
		"Hi": "Re: Hi", "Re: Hi": "Re: Hi", "RE: Hi": "RE: Hi", "re: ": "re: ", "Re": "Re: Re",
		"Regarding": "Re: Regarding", "é": "Re: é", "AW: Hi": "Re: AW: Hi",
	} {
		if got := replySubject(subject); got != want {
			t.Errorf("the reply to %q has the subject %q, want %q", subject, got, want)
		}
	}
}
