package match_test

import (
	"testing"

	"prospector/internal/match"
)

func TestSplitName(t *testing.T) {
	for full, want := range map[string][2]string{
		"Ada Berg": {"Ada", "Berg"}, "Müller, Hans": {"Hans", "Müller"}, "Dr. Hans Müller": {"Hans", "Müller"}, "Prof. Dr. Lena von der Heide": {"Lena", "von der Heide"}, "Vincent van Gogh": {"Vincent", "van Gogh"},
		"María de la Cruz": {"María", "de la Cruz"}, "Herr Groß": {"", "Groß"}, "Cher": {"", "Cher"}, "Ann Lee, PhD": {"Ann", "Lee"}, "John Smith Jr.": {"John", "Smith"}, "Ana Lee MBA": {"Ana", "Lee"},
		"Juan Carlos Pérez": {"Juan Carlos", "Pérez"}, "  Zoë\u00a0 Lum ": {"Zoë", "Lum"}, "Kim Lee (she/her)": {"Kim", "Lee"}, "Mr. John Doe": {"John", "Doe"}, "von Berg, Dr. Eva": {"Eva", "von Berg"}, "Van Morrison": {"Van", "Morrison"}, "": {"", ""},
		"Dr. Who": {"", "Who"},
	} {
		if first, last := match.SplitName(full); first != want[0] || last != want[1] {
			t.Errorf("%q is %q %q, want %q", full, first, last, want)
		}
	}
}
