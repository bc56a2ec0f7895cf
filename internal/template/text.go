package template

import "slices"

// text is a parsed text of a template. Only the template itself is parsed. Values are inserted as
// they are, so nobody can put a token into their own name.
type text []textPart

// textPart is a piece of literal text or, if that is empty, a token.
type textPart struct {
	literal formatted
	token   token
}

// parseText parses s and includes its blocks. Unknown tokens and blocks stay as they are. Check
// refuses them in templates.
func parseText(s string, blocks map[string]Block) (t text) {
	for _, p := range parse(s) {
		block, isBlock := blocks[p.text]
		token, isToken := tokenNamed(p.text)
		switch {
		case p.kind == tokenPiece && isToken:
			t = append(t, textPart{token: token})
		case p.kind == blockPiece && isBlock:
			t = append(t, parseText(string(block.Content), nil)...)
		default:
			t = append(t, textPart{literal: format(p.raw)})
		}
	}
	return t
}

// fill returns the text with the tokens replaced that have a value, and adjacent literals joined.
func (t text) fill(v *[tokenCount]formatted) (filled text) {
	for _, part := range t {
		if part.literal == (formatted{}) {
			part.literal = v[part.token]
		}
		last := len(filled) - 1
		if last < 0 || part.literal == (formatted{}) || filled[last].literal == (formatted{}) {
			filled = append(filled, part)
			continue
		}
		for f := range part.literal {
			filled[last].literal[f] += part.literal[f]
		}
	}
	return filled
}

// render appends the text to b. Tokens without a value render as nothing. Their names are appended
// to missing, each once.
func (t text) render(b []byte, f Form, v *[tokenCount]formatted, missing []string) ([]byte, []string) {
	for i := range t {
		part := &t[i]
		switch {
		case part.literal[f] != "":
			b = append(b, part.literal[f]...)
		case v[part.token][f] != "":
			b = append(b, v[part.token][f]...)
		case !slices.Contains(missing, tokenNames[part.token]):
			missing = append(missing, tokenNames[part.token])
		}
	}
	return b, missing
}
