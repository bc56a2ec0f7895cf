package template

// footer is the organization's footer, which is added to automatic emails that do not contain the
// unsubscribe link themselves.
type footer struct {
	lines []footerLine
	link  text // follows if no line with the link is rendered
}

type footerLine struct {
	text
	hasLink bool
}

func (p *parser) footer(s string) *footer {
	f := &footer{link: p.text("Unsubscribe: {{"+UnsubscribeURL+"}}", nil)}
	for _, line := range p.text(s, nil).lines() {
		f.lines = append(f.lines, footerLine{line, line.has(UnsubscribeURL)})
	}
	return f
}

// fill is text.fill for the whole footer.
func (f *footer) fill(v []formatted) *footer {
	filled := &footer{link: f.link.fill(v)}
	for _, line := range f.lines {
		filled.lines = append(filled.lines, footerLine{line.text.fill(v), line.hasLink})
	}
	return filled
}

var newline = format("\n")

// append appends the footer to a message that starts at start in b. A line in which a token has
// neither a value nor a fallback is left out.
func (f *footer) append(b []byte, start int, form Form, v []formatted) []byte {
	var buf [4]string
	hasLink, hasLine := false, false
	breaks := 2 // before the next line
	if len(b) == start {
		breaks = 0
	}
	for i := range f.lines {
		line := &f.lines[i]
		if len(line.text) == 0 {
			if hasLine {
				breaks++
			}
			continue
		}
		end := len(b)
		b = appendBreaks(b, form, breaks)
		var missing []string
		if b, missing = line.render(b, form, v, buf[:0]); len(missing) > 0 {
			b = b[:end]
			continue
		}
		breaks, hasLine, hasLink = 1, true, hasLink || line.hasLink
	}
	if !hasLink {
		b, _ = f.link.render(appendBreaks(b, form, breaks), form, v, buf[:0])
	}
	return b
}

func appendBreaks(b []byte, form Form, n int) []byte {
	for range n {
		b = append(b, newline[form]...)
	}
	return b
}
