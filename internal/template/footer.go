package template

import "strings"

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

// appendTo appends the footer to a message. A line in which a token has neither a value nor a fallback is
// left out.
func (f *footer) appendTo(message string, values []string) string {
	b := []byte(message)
	breaks := 2 // before the next line
	if message == "" {
		breaks = 0
	}
	add := func(line string) {
		b = append(append(b, strings.Repeat("\n", breaks)...), line...)
		breaks = 1
	}
	hasLink, hasLine := false, false
	for _, l := range f.lines {
		line, missing := l.render(values, nil)
		switch {
		case len(missing) > 0:
		case len(l.text) > 0:
			add(line)
			hasLine, hasLink = true, hasLink || l.hasLink
		case hasLine:
			breaks++
		}
	}
	if !hasLink {
		link, _ := f.link.render(values, nil)
		add(link)
	}
	return string(b)
}
