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
	literal     string
	token       int // its position among the tokens of the template
	name        string
	fallback    string
	hasFallback bool // a fallback can be empty
}

func (p *textPart) isToken() bool { return p.literal == "" }

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
			t = append(t, textPart{literal: piece.raw})
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
	return textPart{token: position, name: name, fallback: fallback, hasFallback: hasFallback}
}

// has reports whether a token is in the text.
func (t text) has(name string) bool {
	return slices.ContainsFunc(t, func(p textPart) bool { return p.isToken() && p.name == name })
}

// trimEnd removes white space at the end, if the text ends with a literal.
func (t text) trimEnd() text {
	for last := len(t) - 1; last >= 0 && !t[last].isToken(); last-- {
		if end := strings.TrimRight(t[last].literal, " \t\r\n"); end != "" {
			return append(slices.Clip(t[:last]), textPart{literal: end})
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
		for i, line := range strings.Split(part.literal, "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			if line = strings.TrimSuffix(line, "\r"); line != "" {
				lines[len(lines)-1] = append(lines[len(lines)-1], textPart{literal: line})
			}
		}
	}
	return lines
}

// render returns the text with the values of its tokens. Tokens without a value render as their
// fallback. The names of those that have no fallback are appended to missing, each once.
func (t text) render(values, missing []string) (string, []string) {
	var b strings.Builder
	for i := range t {
		switch p := &t[i]; {
		case !p.isToken():
			b.WriteString(p.literal)
		case values[p.token] != "":
			b.WriteString(values[p.token])
		case p.hasFallback:
			b.WriteString(p.fallback)
		}
	}
	return b.String(), t.appendMissing(values, missing)
}

// appendMissing appends the names of the tokens that have neither a value nor a fallback, each once.
func (t text) appendMissing(values, missing []string) []string {
	for i := range t {
		p := &t[i]
		if p.isToken() && values[p.token] == "" && !p.hasFallback && !slices.Contains(missing, p.name) {
			missing = append(missing, p.name)
		}
	}
	return missing
}
