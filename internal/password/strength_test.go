package password

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestStrength(t *testing.T) {
	words := []string{"Ada", "Lovelace", "ada.lovelace@northwind.example", "Northwind Traders"}
	for _, test := range []struct{ password, want string }{
		{"password12", "it is a common password; use four or more unrelated words"},
		{"P@ssw0rd123!", "a common password"},
		{"1234567890", "a common password"},
		{"hijklmnopqrst", "a sequence"},
		{"iloveyou2019", "a common password"},
		{"aaaaaaaaaaaa", "repeats itself"},
		{"hunter2hunter2", "repeats itself"},
		{"qazxdrtgbhu", "keyboard"},
		{"14.07.1989", "date"},
		{"adalovelace1", "your name"},
		{"Northwind2026", "the name of your organization"},
		{"ecalevoL.adA", "your name"},
		{"Sommer2026!", "a common"},
		{"correct horse battery", ""},
		{"k3Rw-9xPq2", ""},
		{"lovelace correct horse battery", ""},
		{"größere Büchse Pandora", ""},
	} {
		err := checkStrength(test.password, words)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q: %v, want %q", test.password, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), test.password) {
			t.Errorf("%q is shown: %v", test.password, err)
		}
	}
	if checkStrength("northwind-7xq", nil) != nil || checkStrength("northwind-7xq", words) == nil {
		t.Error("words of others count, or those of the user do not")
	}
}

// TestRandomPasswords checks that no random password is refused.
func TestRandomPasswords(t *testing.T) {
	const letters = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789-_"
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		password := make([]byte, 12)
		for i := range password {
			password[i] = letters[r.IntN(len(letters))]
		}
		if err := checkStrength(string(password), []string{"ada@acme.example"}); err != nil {
			t.Errorf("%s: %v", password, err)
		}
	}
}

// TestLongPasswords checks that the time to judge a password has a bound: what is beyond maxJudged does not count.
func TestLongPasswords(t *testing.T) {
	took := func(password string) time.Duration {
		start := time.Now()
		_ = checkStrength(password, nil)
		return time.Since(start)
	}
	worst := strings.Repeat("4@8({[<369!1|7", 100)
	limit := took(worst[:maxJudged])
	for range 2 {
		limit = max(limit, took(worst[:maxJudged]))
	}
	for _, password := range []string{worst, strings.Repeat("a", 100_000), strings.Repeat("ü", 100_000)} {
		if d := took(password); d > 10*limit {
			t.Errorf("%d bytes take %v, and %d take %v", len(password), d, maxJudged, limit)
		}
	}
	if err := checkStrength(strings.Repeat("a", maxJudged)+"correct horse battery staple", nil); err == nil {
		t.Error("what is not judged counts")
	}
}
