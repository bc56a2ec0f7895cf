package outreach

import "strings"

// token is what a {{…}} of a template stands for.
type token int

const (
	recipientFirstName token = iota
	recipientLastName
	recipientCompany
	recipientEmail
	senderFirstName
	senderLastName
	senderCompany
	senderTitle
	senderEmail
	tokens
)

// tokenNames are the tokens as templates write them.
var tokenNames = [tokens]string{
	"recipient.first_name", "recipient.last_name", "recipient.company", "recipient.email",
	"sender.first_name", "sender.last_name", "sender.company", "sender.title", "sender.email",
}

var knownTokens = "{{" + strings.Join(tokenNames[:], "}}, {{") + "}}"

// tokenNamed gives the token that has the name.
func tokenNamed(name string) (token, bool) {
	for t, known := range tokenNames {
		if known == name {
			return token(t), true
		}
	}
	return 0, false
}

func isToken(name string) bool {
	_, known := tokenNamed(name)
	return known
}

// pieceKind is what a piece of a template's text is.
type pieceKind int

const (
	textPiece  pieceKind = iota
	tokenPiece           // text is its name
	blockPiece           // text is the id of the block
	openPiece            // text is what begins a token or a block that has no end
)

// piece is a piece of a template's text.
type piece struct {
	kind pieceKind
	text string
	raw  string // as it is written
}

const (
	tokenOpen, tokenClose = "{{", "}}"
	blockOpen, blockClose = "[[block:", "]]"
)

// parse cuts a text into its pieces: together they are all of it.
func parse(text string) (pieces []piece) {
	for text != "" {
		at, open, end, kind := marker(text)
		if at > 0 {
			pieces = append(pieces, piece{textPiece, text[:at], text[:at]})
		}
		if at == len(text) {
			return pieces
		}
		inner, rest, closed := strings.Cut(text[at+len(open):], end)
		if !closed {
			return append(pieces, piece{openPiece, open, text[at:]})
		}
		raw := text[at : len(text)-len(rest)]
		pieces = append(pieces, piece{kind, strings.TrimSpace(inner), raw})
		text = rest
	}
	return pieces
}

// marker finds where the first token or block of a text begins; at its end when there is none.
func marker(text string) (at int, open, end string, kind pieceKind) {
	for ; at < len(text); at++ {
		switch rest := text[at:]; {
		case strings.HasPrefix(rest, tokenOpen):
			return at, tokenOpen, tokenClose, tokenPiece
		case strings.HasPrefix(rest, blockOpen):
			return at, blockOpen, blockClose, blockPiece
		}
	}
	return at, "", "", textPiece
}
