package template

import "strings"

// Token is a placeholder such as {{recipient.first_name}}.
type Token struct {
	Group Group
	Field string // "first_name"; may contain dots
}

// Group is the record that a token takes its value from.
type Group string

const (
	Recipient    Group = "recipient" // the contact
	Account      Group = "account"   // of the contact
	Sender       Group = "sender"    // the user who owns the campaign
	Organization Group = "organization"
)

// UnsubscribeURL is the token of the link with which the recipient unsubscribes. It has no group.
const UnsubscribeURL = "unsubscribe_url"

// TokenNamed returns the token with a name.
func TokenNamed(name string) Token {
	group, field, hasGroup := strings.Cut(name, ".")
	if !hasGroup || group == "" {
		return Token{Field: name}
	}
	return Token{Group(group), field}
}

// Name returns the name of the token in templates.
func (t Token) Name() string {
	if t.Group == "" {
		return t.Field
	}
	return string(t.Group) + "." + t.Field
}

// splitToken splits what is between the braces into the name of a token and its fallback, the text
// that stands for a missing value.
func splitToken(inner string) (name, fallback string, hasFallback bool) {
	name, fallback, hasFallback = strings.Cut(inner, "|")
	return strings.TrimSpace(name), strings.TrimSpace(fallback), hasFallback
}

// pieceKind is the kind of a piece of text.
type pieceKind int

const (
	literalPiece  pieceKind = iota
	tokenPiece              // text is the token's name and fallback, known or not
	blockPiece              // text is the block's id
	unclosedPiece           // text is the opening marker of a token or block that is not closed
)

// piece is a piece of a template's text.
type piece struct {
	kind pieceKind
	text string
	raw  string // as written in the template
}

const (
	tokenOpen, tokenClose = "{{", "}}"
	blockOpen, blockClose = "[[block:", "]]"
)

// closing is the closing marker of each opening one.
var closing = map[string]string{tokenOpen: tokenClose, blockOpen: blockClose}

// parse splits a text into pieces. Concatenated, their raw forms are the text.
func parse(text string) (pieces []piece) {
	for text != "" {
		at, open, end, kind := findMarker(text)
		if at > 0 {
			pieces = append(pieces, piece{literalPiece, text[:at], text[:at]})
		}
		if at == len(text) {
			return pieces
		}
		inner, rest, closed := strings.Cut(text[at+len(open):], end)
		if !closed {
			return append(pieces, piece{unclosedPiece, open, text[at:]})
		}
		raw := text[at : len(text)-len(rest)]
		pieces = append(pieces, piece{kind, strings.TrimSpace(inner), raw})
		text = rest
	}
	return pieces
}

// findMarker finds the first token or block of a text. at is len(text) if there is none.
func findMarker(text string) (at int, open, end string, kind pieceKind) {
	for ; at < len(text); at++ {
		switch rest := text[at:]; {
		case strings.HasPrefix(rest, tokenOpen):
			return at, tokenOpen, tokenClose, tokenPiece
		case strings.HasPrefix(rest, blockOpen):
			return at, blockOpen, blockClose, blockPiece
		}
	}
	return at, "", "", literalPiece
}
