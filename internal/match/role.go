package match

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"

	"prospector/internal/address"
)

//go:embed roles.txt
var roleTable []byte

var roles = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	readTable(roleTable, func(line string) {
		for _, word := range strings.Fields(line) {
			set[strings.Join(words(word), "")] = true
		}
	})
	return set
})

// IsRole reports whether an address belongs to a function, such as info@ or office@, and not to a person.
func IsRole(email string) bool {
	email = address.Key(email)
	local, _, _ := strings.Cut(email, "+")
	if at := strings.LastIndexByte(local, '@'); at >= 0 {
		local = local[:at]
	}
	parts := strings.FieldsFunc(Fold(local), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(parts) == 0 {
		return false
	}
	if roles()[strings.Join(parts, "")] {
		return true
	}
	if !roles()[parts[0]] && !roles()[parts[len(parts)-1]] {
		return false
	}
	for _, part := range parts {
		if !roles()[part] && len(part) > 2 { // info-de, sales.uk
			return false
		}
	}
	return true
}
