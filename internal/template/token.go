package template

import "strings"

// token is a placeholder such as {{recipient.first_name}}.
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
	tokenCount
)

// tokenNames are the names of the tokens in templates.
var tokenNames = [tokenCount]string{
	"recipient.first_name", "recipient.last_name", "recipient.company", "recipient.email",
	"sender.first_name", "sender.last_name", "sender.company", "sender.title", "sender.email",
}

// knownTokens lists all tokens for error messages.
var knownTokens = "{{" + strings.Join(tokenNames[:], "}}, {{") + "}}"

// tokenNamed returns the token with a name.
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

// pieceKind is the kind of a piece of text.
type pieceKind int

const (
	literalPiece  pieceKind = iota
	tokenPiece              // text is the token's name, known or not
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
