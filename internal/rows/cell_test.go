package rows_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"prospector/internal/rows"
)

// escaped checks that unescaping the cell returns the text, and that no spreadsheet sees a formula.
func escaped(t *testing.T, text string) {
	t.Helper()
	cell := rows.EscapeFormula(text)
	if back := rows.UnescapeFormula(cell); back != text {
		t.Errorf("%q is escaped as %q and comes back as %q", text, cell, back)
	}
	if cell != text && cell != "'"+text {
		t.Errorf("%q is escaped as %q", text, cell)
	}
	bare := strings.TrimLeftFunc(cell, unicode.IsSpace)
	if bare != "" && strings.ContainsRune("=+-@＝＋－＠|%", []rune(bare)[0]) {
		t.Errorf("%q is escaped as %q, which a spreadsheet takes for a formula", text, cell)
	}
}

func TestEscapeFormula(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " ": " ", "a": "a", "a=1": "a=1", "Ada": "Ada", "名前": "名前", "3-4": "3-4", "(=1)": "(=1)", "\"=1\"": "\"=1\"",
		"=1+1": "'=1+1", "+49 30": "'+49 30", "-": "'-", "@me": "'@me", "＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠a": "'＠a",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", " =1": "' =1", "\u00a0=1": "'\u00a0=1", " \t": "' \t", "|a": "'|a", "%a": "'%a",
		"'": "''", "''": "'''", "'tis": "''tis", "'=1": "''=1", " 'tis": "' 'tis", "\ufeff=1": "\ufeff=1", "\xff=1": "\xff=1",
	} {
		if got := rows.EscapeFormula(text); got != want {
			t.Errorf("%q is escaped as %q, want %q", text, got, want)
		}
		if text != "\ufeff=1" {
			escaped(t, text)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	parts := []rune("=+-@＝＋－＠\t\r\n|%' \u00a0\u2003aé😀\"0\ufffd")
	for range 20_000 {
		text := ""
		for range r.IntN(5) {
			text += string(parts[r.IntN(len(parts))])
		}
		escaped(t, text)
	}
}

// TestUnescapeFormula covers cells that EscapeFormula did not write.
func TestUnescapeFormula(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "'": "'", "'tis": "'tis", "'a=1": "'a=1", "'Ada'": "'Ada'", "' a": "' a", "=1": "=1", "-5": "-5",
		"'=1": "=1", "'+49 30": "+49 30", "'-5": "-5", "' =1": " =1", "''": "'", "''tis": "'tis", "'''": "''", " '=1": " '=1", "’=1": "’=1", "'0049": "'0049",
	} {
		if got := rows.UnescapeFormula(cell); got != want {
			t.Errorf("%q is %q without its guard, want %q", cell, got, want)
		}
	}
}

func FuzzEscapeFormula(f *testing.F) {
	for _, seed := range []string{"", "=1", "''=", " \t'", "＝", "\xff'", "\u00a0@"} {
		f.Add(seed)
	}
	f.Fuzz(escaped)
}

func TestSplit(t *testing.T) {
	for cell, want := range map[string][]string{
		"": nil, " ": nil, "|": nil, ";; |": nil, "a": {"a"}, "a|b": {"a", "b"}, "a;b": {"a", "b"}, " a ; b|c d ": {" a ", " b", "c d "},
		"a||b;": {"a", "b"}, "a,b": {"a,b"}, "a|a": {"a", "a"}, "\ta\n|é😀": {"\ta\n", "é😀"},
	} {
		if got := rows.Split(cell); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", cell, got, want)
		}
	}
}
