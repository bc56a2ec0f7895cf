package match

import "strings"

// minPhone is the number of digits that a phone number has at least.
const minPhone = 7

// Phone returns the digits of a phone number without the leading zeros, and those of an extension behind an x. It is ""
// for what is no phone number. See SamePhone.
func Phone(number string) string {
	number = strings.ToLower(number)
	extension := ""
	for _, word := range []string{"extension", "ext", "durchwahl", "dw", "poste", "x", "#"} {
		if before, after, has := strings.Cut(number, word); has && len(digits(before)) >= minPhone {
			number, extension = before, digits(after)
			break
		}
	}
	if strings.Contains(number, "e+") { // 4.93012E+11
		return ""
	}
	number = strings.Replace(number, "(0)", "", 1)
	bare := strings.TrimLeft(digits(number), "0")
	if len(bare) < minPhone || len(bare) > 15 || strings.Count(bare, bare[:1]) == len(bare) {
		return ""
	}
	if extension != "" {
		return bare + "x" + extension
	}
	return bare
}

func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// PhoneKey returns what is equal for all forms of a number, with or without the code of its country. Other numbers may have it
// too.
func PhoneKey(phone string) string {
	number, extension, _ := strings.Cut(phone, "x")
	if len(number) > 8 {
		number = number[len(number)-8:]
	}
	if extension != "" {
		return number + "x" + extension
	}
	return number
}

// SamePhone reports whether two numbers that Phone has returned are the same, although one may lack the code of the country
// or of the area.
func SamePhone(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	a, extension, _ := strings.Cut(a, "x")
	b, other, _ := strings.Cut(b, "x")
	return extension == other && (strings.HasSuffix(a, b) || strings.HasSuffix(b, a))
}
