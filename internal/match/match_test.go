package match_test

import (
	"strings"
	"testing"
	"unicode"

	"prospector/internal/match"
)

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"Müller": "muller", "MUELLER": "muller", "Muller": "muller", "Groß": "gross", "Søren": "soren", "Soeren": "soren", "Jürgen": "jurgen",
		"Kjær": "kjar", "Łukasz": "lukasz", "René": "rene", "Çelik": "celik", "İnce": "ince", "Bauer": "bauer", "Baur": "baur", "Xue": "xue", "Xu": "xu",
		"Joe": "joe", "Enrique": "enrique", "Jacques": "jacques", "Zoë": "zoe", "O’Brien": "o'brien", "ＡＢＣ": "abc", "Иванов": "иванов", "がく": "がく", "हिन्दी": "हिन्दी", "김": "김",
		"a\u0308": "a",
	} {
		if got := match.Fold(text); got != want {
			t.Errorf("Fold(%q) is %q, want %q", text, got, want)
		}
	}
}

// person reads "First|Last".
func person(name string) match.Person {
	first, last, _ := strings.Cut(name, "|")
	return match.NewPerson(first, last)
}

func TestCompare(t *testing.T) {
	const eq, half, nick, typo, initial, missing, no = match.Equal, match.Half, match.Nickname, match.Typo, match.Initial, match.Missing, match.Different
	for _, c := range []struct {
		a, b    string
		first   match.Likeness
		last    match.Likeness
		swapped bool
	}{
		{"Hans|Müller", "hans|MUELLER", eq, eq, false},
		{"Dr. Hans|Müller", "Hans|Muller, PhD", eq, eq, false},
		{"Frau Anna|Groß", "Anna|Gross", eq, eq, false},
		{"Hans-Peter|Kern", "Hanspeter|Kern", eq, eq, false},
		{"Hans-Peter|Kern", "Hans|Kern", half, eq, false},
		{"Hans-Peter|Kern", "Peter|Kern", half, eq, false},
		{"John Quincy|Adams", "John Q.|Adams", initial, eq, false},
		{"John Q.|Adams", "John|Adams", half, eq, false},
		{"John Q.|Adams", "John R.|Adams", no, eq, false},
		{"J.|Smith", "John|Smith", initial, eq, false},
		{"J.|Smith", "Mary|Smith", no, eq, false},
		{"J.-P.|Petit", "Jean-Pierre|Petit", nick, eq, false},
		{"JP|Petit", "Jean-Pierre|Petit", nick, eq, false},
		{"KH|Kern", "Kurt Hugo|Kern", initial, eq, false},
		{"Bob|Miller", "Robert|Miller", nick, eq, false},
		{"Bob|Miller", "Rob|Miller", nick, eq, false},
		{"Bill|Miller", "Liam|Miller", nick, eq, false},
		{"Alexander|Berg", "Alexandra|Berg", no, eq, false},
		{"Alex|Berg", "Alexandra|Berg", nick, eq, false},
		{"Sepp|Huber", "Josef|Huber", nick, eq, false},
		{"Uschi|Glas", "Ursula|Glas", nick, eq, false},
		{"Pepe|Ruiz", "José|Ruiz", nick, eq, false},
		{"Juanjo|Ruiz", "Juan José|Ruiz", nick, eq, false},
		{"Margot|Duval", "Marguerite|Duval", nick, eq, false},
		{"John|Smith", "Jane|Smith", no, eq, false},
		{"Daniel|Kern", "Daniela|Kern", no, eq, false},
		{"Mario|Kern", "Maria|Kern", no, eq, false},
		{"Thomas|Kern", "Thmoas|Kern", typo, eq, false},
		{"Thomas|Kern", "Thomsa|Kern", typo, eq, false},
		{"Thomas|Schneider", "Thomas|Schnieder", eq, typo, false},
		{"Thomas|Schneider", "Thomas|Schneidr", eq, typo, false},
		{"Thomas|Schneider", "Thomas|Schndr", eq, no, false},
		{"Thomas|Kern", "Thomas|Kerm", eq, no, false}, // four letters
		{"Anna|Meier-Schmidt", "Anna|Schmidt", eq, half, false},
		{"Anna|Meier Schmidt", "Anna|Meier", eq, half, false},
		{"Anna|Meier-Schmidt", "Anna|Meier-Kuhn", eq, no, false},
		{"Gabriel|García Márquez", "Gabriel|Garcia", eq, half, false},
		{"Ursula|von der Leyen", "Ursula|Leyen", eq, eq, false},
		{"Maria|de la Cruz", "Maria|Cruz", eq, eq, false},
		{"Thomas|Martin", "Martin|Thomas", eq, eq, true},
		{"Kern|Thomas", "Tom|Kern", nick, eq, true},
		{"|Chris", "Chris|Miller", missing, eq, true},
		{"|Miller", "Chris|Miller", missing, eq, false},
		{"|", "Chris|Miller", missing, missing, false},
		{"John|Smith Jr.", "John|Smith Sr.", no, no, false},
		{"John|Smith Jr.", "John|Smith", eq, eq, false},
		{"Do|Nguyen", "Nguyen|Do", eq, eq, true},
		{"Sean|O'Brien", "Sean|O’Brien", eq, eq, false},
		{"Sean|OBrien", "Sean|O'Brien", eq, eq, false},
		{"Don|Draper", "Donald|Draper", nick, eq, false},
		{"Иван|Петров", "ИВАН|Петров", eq, eq, false},
		{"Anna|Meier", "Anna|Huber", eq, no, false},
	} {
		a, b := person(c.a), person(c.b)
		want := match.Names{First: c.first, Last: c.last, Swapped: c.swapped}
		if got := match.Compare(&a, &b); got.Compatible() != want.Compatible() || got.Compatible() && !(got == want || got == (match.Names{First: want.Last, Last: want.First, Swapped: want.Swapped}) && want.Swapped) {
			t.Errorf("%s and %s: %+v, want %+v", c.a, c.b, got, want)
		}
		if x, y := match.Compare(&a, &b), match.Compare(&b, &a); x.Compatible() != y.Compatible() {
			t.Errorf("%s and %s: %+v, the other way round %+v", c.a, c.b, x, y)
		}
	}
}

func TestKey(t *testing.T) {
	key := func(name string) string { p := person(name); return p.Key() }
	for _, same := range [][2]string{
		{"Hans|Müller", "HANS|Mueller"}, {"Hans|Müller", "Muller|Hans"}, {"Dr. Hans-Peter|von Berg", "Hanspeter|Berg"},
	} {
		if key(same[0]) != key(same[1]) || key(same[0]) == "" {
			t.Errorf("%q is %q, and %q is %q", same[0], key(same[0]), same[1], key(same[1]))
		}
	}
	if key("|Müller") != "" || key("Hans|") != "" || key("Hans|Miller") == key("Hans|Müller") {
		t.Error("keys are wrong")
	}
}

func TestCompany(t *testing.T) {
	for name, want := range map[string][2]string{
		"Acme GmbH": {"acme", "gmbh"}, "ACME, Inc.": {"acme", "inc"}, "Müller & Söhne GmbH & Co. KG": {"muller & sohne", "gmbh & co kg"}, "Mueller und Soehne": {"muller & sohne", ""},
		"Acme S.A.": {"acme", "sa"}, "Acme Sp. z o.o.": {"acme", "sp z oo"}, "Acme (Pty) Ltd": {"acme", "pty ltd"}, "Acme UG (haftungsbeschränkt)": {"acme", "ug haftungsbeschrankt"},
		"PT Acme Tbk": {"pt acme", "tbk"}, "SARL Dupont": {"dupont", "sarl"}, "AG": {"ag", ""}, "SE": {"se", ""}, "The Acme Company": {"acme", "company"}, "Booking.com B.V.": {"bookingcom", "bv"},
		"Acme A/S": {"acme", "a/s"}, "Globex": {"globex", ""}, "Acme & Co.": {"acme", "& co"}, "Acme Co., Ltd.": {"acme", "co ltd"}, "": {"", ""}, "!": {"", ""},
	} {
		if bare, form := match.Company(name); bare != want[0] || form != want[1] {
			t.Errorf("%q is %q and %q, want %q", name, bare, form, want)
		}
	}
}

func TestIsRole(t *testing.T) {
	for _, email := range []string{"info@acme.example", "Office@Acme.example", "sales.de@acme.example", "info2@acme.example", "no-reply@acme.example", "kontakt@acme.example", "büro@acme.example", "buero@acme.example",
		"comercial@acme.example", "service-client@acme.example", "info+spring@acme.example", "hr@acme.example"} {
		if !match.IsRole(email) {
			t.Errorf("%s is personal", email)
		}
	}
	for _, email := range []string{"ann@acme.example", "max.sales@acme.example", "mark@acme.example", "info.mueller@acme.example", "will@acme.example", "a@acme.example", "12345@acme.example", "", "@", "jo.li@acme.example"} {
		if match.IsRole(email) {
			t.Errorf("%s is a role", email)
		}
	}
}

func TestPhone(t *testing.T) {
	for _, same := range [][2]string{
		{"+49 30 1234567", "030/123 45 67"}, {"0049 (0)30 1234567", "+49301234567"}, {"(555) 123-4567", "+1 555.123.4567"}, {"+47 22 12 34 56", "22123456"}, {"555-123-4567 ext. 12", "+15551234567 x12"},
	} {
		a, b := match.Phone(same[0]), match.Phone(same[1])
		if !match.SamePhone(a, b) || match.PhoneKey(a) != match.PhoneKey(b) {
			t.Errorf("%q is %q, and %q is %q", same[0], a, same[1], b)
		}
	}
	for _, other := range [][2]string{{"+49 30 1234567", "+49 40 1234567"}, {"+49 30 1234567", "+49 30 1234568"}, {"555-123-4567 x12", "555-123-4567 x13"}, {"555-123-4567", "555-123-4567 x13"}, {"n/a", "n/a"}, {"0000000000", "0000000000"}, {"12345", "12345"}, {"4.93012E+11", "4.93012E+11"}} {
		if a, b := match.Phone(other[0]), match.Phone(other[1]); match.SamePhone(a, b) {
			t.Errorf("%q and %q are the same: %q and %q", other[0], other[1], a, b)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, s := range []string{"Hans-Peter|Müller", "J.|Smith", "|", "Dr.|", "Anna Maria|de la Cruz", "\xff|\x00", "İ|ß", "GmbH & Co. KG|+49 30 12"} {
		f.Add(s, "Bob|Miller")
	}
	f.Fuzz(func(t *testing.T, x, y string) {
		a, b := person(x), person(y)
		if match.Compare(&a, &b).Compatible() != match.Compare(&b, &a).Compatible() {
			t.Errorf("%q and %q depend on the order", x, y)
		}
		if !match.Compare(&a, &a).Compatible() {
			t.Errorf("%q is not itself", x)
		}
		if bare, _ := match.Company(x); bare == "" && strings.ContainsFunc(x, unicode.IsLetter) {
			t.Errorf("%q has no name", x)
		}
		if p := match.Phone(x); p != "" && !match.SamePhone(p, match.Phone(x)) {
			t.Errorf("%q is not itself", x)
		}
		match.IsRole(x)
		if first, last := match.SplitName(x); strings.TrimSpace(first) != first || strings.TrimSpace(last) != last {
			t.Errorf("%q is %q %q", x, first, last)
		}
	})
}
