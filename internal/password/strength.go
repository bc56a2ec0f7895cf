package password

import (
	"strings"

	"github.com/trustelem/zxcvbn"
	"github.com/trustelem/zxcvbn/match"

	"prospector/internal/fault"
)

const (
	// minGuesses is how many guesses a password must need. Throttled as sign-ins are, these take years, and a random
	// password of minLength characters needs more.
	minGuesses = 1e9
	// maxJudged is how many characters of a password are judged, because judging takes more than linear time.
	maxJudged = 100
)

const advice = "use four or more unrelated words, or at least 12 random characters"

// checkStrength returns an error if a password is easy to guess for somebody who knows words of its user, such as names.
func checkStrength(password string, words []string) error {
	if runes := []rune(password); len(runes) > maxJudged {
		password = string(runes[:maxJudged])
	}
	judged := zxcvbn.PasswordStrength(strings.ToValidUTF8(password, "\ufffd"), known(words))
	if judged.Guesses >= minGuesses {
		return nil
	}
	var p fault.Problems
	p.Invalid("password", "is too easy to guess: %s; %s", weakness(judged.Sequence), advice)
	return p.Err()
}

// known returns words and their parts, such as the name and the domain of an address.
func known(words []string) (all []string) {
	for _, word := range words {
		all = append(all, word)
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("@.-_+ ", r) }) {
			if len(part) > 2 {
				all = append(all, part)
			}
		}
	}
	return all
}

// weakness says what makes a password easy to guess: what its user's words contribute, or else its longest part that is
// not random.
func weakness(parts []*match.Match) string {
	var longest *match.Match
	for _, m := range parts {
		if m.DictionaryName == "user_inputs" {
			return "it contains your name, your address or the name of your organization"
		}
		if m.Pattern != "bruteforce" && (longest == nil || len(m.Token) > len(longest.Token)) {
			longest = m
		}
	}
	if longest == nil {
		return "it is short and simple"
	}
	switch longest.Pattern {
	case "repeat":
		return "it repeats itself"
	case "sequence":
		return "it contains a sequence such as abcd or 4321"
	case "spatial":
		return "it follows the keys of a keyboard"
	case "date", "regex":
		return "it contains a date or a year"
	}
	switch longest.DictionaryName {
	case "passwords":
		if len(parts) == 1 {
			return "it is a common password"
		}
		return "it contains a common password"
	case "surnames", "male_names", "female_names":
		return "it contains a common name"
	}
	return "it contains few common words"
}
