package template

import (
	"slices"
	"strings"
)

// text is a parsed text of a template. Only the template itself is parsed. Values are inserted as
// they are, so nobody can put a token into their own name.
type text []textPart

// textPart is a piece of literal text or, if that is empty, a token.
type textPart struct {
	literal     formatted
	token       int // its position among the tokens of the template
	name        string
	fallback    formatted
	hasFallback bool // a fallback can be empty
}

func (p *textPart) isToken() bool { return p.literal == formatted{} }

// parser parses the texts of a template and collects their distinct tokens.
type parser struct {
	tokens    []Token
	positions map[string]int // in tokens, by name
}

// text parses s and includes its blocks. Unknown blocks stay as they are, and unknown tokens never
// have a value. Check refuses both in templates.
func (p *parser) text(s string, blocks map[string]Block) (t text) {
	for _, piece := range parse(s) {
		block, isBlock := blocks[piece.text]
		switch {
		case piece.kind == tokenPiece:
			t = append(t, p.token(piece.text))
		case piece.kind == blockPiece && isBlock:
			t = append(t, p.text(string(block.Content), nil)...)
		default:
			t = append(t, textPart{literal: format(piece.raw)})
		}
	}
	return t
}

func (p *parser) token(inner string) textPart {
	name, fallback, hasFallback := splitToken(inner)
	position, known := p.positions[name]
	if !known {
		position = len(p.tokens)
		p.tokens = append(p.tokens, TokenNamed(name))
		if p.positions == nil {
			p.positions = map[string]int{}
		}
		p.positions[name] = position
	}
	return textPart{token: position, name: name, fallback: format(fallback), hasFallback: hasFallback}
}

// has reports whether a token is in the text.
func (t text) has(name string) bool {
	return slices.ContainsFunc(t, func(p textPart) bool { return p.isToken() && p.name == name })
}

// trimEnd removes white space at the end, if the text ends with a literal.
func (t text) trimEnd() text {
	for last := len(t) - 1; last >= 0 && !t[last].isToken(); last-- {
		if end := strings.TrimRight(t[last].literal[PlainText], " \t\r\n"); end != "" {
			return append(slices.Clip(t[:last]), textPart{literal: format(end)})
		}
		t = t[:last]
	}
	return t
}

// lines splits the text at the line breaks of its literals.
func (t text) lines() []text {
	lines := []text{nil}
	for _, part := range t {
		if part.isToken() {
			lines[len(lines)-1] = append(lines[len(lines)-1], part)
			continue
		}
		for i, line := range strings.Split(part.literal[PlainText], "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			if line = strings.TrimSuffix(line, "\r"); line != "" {
				lines[len(lines)-1] = append(lines[len(lines)-1], textPart{literal: format(line)})
			}
		}
	}
	return lines
}

// fill returns the text with the tokens replaced that have a value, and adjacent literals joined.
func (t text) fill(v []formatted) (filled text) {
	for _, part := range t {
		if part.isToken() {
			part.literal = v[part.token]
		}
		last := len(filled) - 1
		if last < 0 || part.isToken() || filled[last].isToken() {
			filled = append(filled, part)
			continue
		}
		for f := range part.literal {
			filled[last].literal[f] += part.literal[f]
		}
	}
	return filled
}

// render appends the text to b. Tokens without a value render as their fallback. The names of those
// that have no fallback are appended to missing, each once.
func (t text) render(b []byte, f Form, v []formatted, missing []string) ([]byte, []string) {
	for i := range t {
		part := &t[i]
		switch {
		case part.literal[f] != "":
			b = append(b, part.literal[f]...)
		case v[part.token][f] != "":
			b = append(b, v[part.token][f]...)
		case part.hasFallback:
			b = append(b, part.fallback[f]...)
		case !slices.Contains(missing, part.name):
			missing = append(missing, part.name)
		}
	}
	return b, missing
}

// appendMissing appends what render appends to missing, without rendering anything.
func (t text) appendMissing(v []formatted, missing []string) []string {
	for i := range t {
		p := &t[i]
		if p.isToken() && v[p.token][PlainText] == "" && !p.hasFallback && !slices.Contains(missing, p.name) {
			missing = append(missing, p.name)
		}
	}
	return missing
}
