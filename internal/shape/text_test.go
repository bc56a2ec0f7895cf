package shape

import (
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for value, want := range map[string]string{
		"":                       `""`,
		"51-200":                 `"51-200"`,
		"a \"b\"\n":              `"a \"b\"\n"`,
		strings.Repeat("ü", 60):  `"` + strings.Repeat("ü", 60) + `"`,
		strings.Repeat("ü", 61):  `"` + strings.Repeat("ü", 60) + `…"`,
		strings.Repeat("x", 1e6): `"` + strings.Repeat("x", 60) + `…"`,
	} {
		if got := Quote(value); got != want {
			t.Errorf("%.80q is quoted as %s, want %s", value, got, want)
		}
	}
}
