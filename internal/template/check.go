package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// Limits of a whole template. Templates are rendered for many contacts, and values can be long.
const (
	maxMessageChars = 100_000   // of one message including its blocks
	maxContentChars = 1_000_000 // of all texts including their blocks
	maxTokens       = 1_000     // in all texts including their blocks
	maxFooterTokens = 20        // in the footer, which most emails have
	maxDelayDays    = 1_000     // so that due times stay within the years that can be stored
)

// Vocabulary returns why there is no token with a name, or "" if there is one.
type Vocabulary func(name string) string

// CheckFooter adds everything that is wrong with a mail footer to p.
func CheckFooter(at, footer string, tokens Vocabulary, p *fault.Problems) {
	c := checker{tokens, p}
	if size := c.text(at, footer, nil, "a footer cannot include a block"); size.tokens > maxFooterTokens {
		p.Invalid(at, "must have at most %d tokens, not %d", maxFooterTokens, size.tokens)
	}
}

// checker checks the texts of a template.
type checker struct {
	tokens Vocabulary
	p      *fault.Problems
}

// Check adds everything that is wrong with the content to p, beyond the rules in the struct tags,
// which the decoder has already checked. It skips what the decoder refused.
func (c *Content) Check(tokens Vocabulary, p *fault.Problems) {
	check := checker{tokens, p}
	blocks := map[string]textSize{}
	for _, id := range slices.Sorted(maps.Keys(c.Blocks)) {
		at := "blocks." + id + ".content"
		blocks[id] = check.text(at, string(c.Blocks[id].Content), nil, "a block cannot include another block")
	}
	hasAllIndexes := !p.At("steps")
	for i := range c.Steps {
		hasAllIndexes = hasAllIndexes && hasIndex(i, p)
	}
	var total textSize
	for i := range c.Steps {
		total.add(c.checkStep(i, blocks, &check))
	}
	if total.chars > maxContentChars {
		p.Invalid("steps", "must have at most %d characters in total, including blocks, not %d", maxContentChars, total.chars)
	}
	if total.tokens > maxTokens {
		p.Invalid("steps", "must have at most %d tokens in total, including blocks, not %d", maxTokens, total.tokens)
	}
	c.checkTransitions(hasAllIndexes, p)
}

// textSize counts what is in a text.
type textSize struct {
	chars, tokens int
	links         int // tokens that are the unsubscribe link
}

func (s *textSize) add(o textSize) {
	s.chars += o.chars
	s.tokens += o.tokens
	s.links += o.links
}

func stepAt(i int) string { return fmt.Sprintf("steps[%d]", i) }

// hasIndex reports whether the index of a step was read and is unique so far.
func hasIndex(i int, p *fault.Problems) bool {
	return !p.At(stepAt(i)) && !p.At(stepAt(i)+".index")
}

func (c *Content) checkStep(i int, blocks map[string]textSize, check *checker) (total textSize) {
	s, at, p := &c.Steps[i], stepAt(i), check.p
	for j := range i {
		if hasIndex(j, p) && hasIndex(i, p) && c.Steps[j].Index == s.Index {
			p.Invalid(at+".index", "%d is also the index of steps[%d]", s.Index, j)
			break
		}
	}
	for j := range i {
		if s.ID != "" && c.Steps[j].ID == s.ID {
			p.Invalid(at+".id", "%s is also the id of steps[%d]", shape.Quote(s.ID), j)
			break
		}
	}
	if s.Type == AutoEmail && strings.TrimSpace(string(s.Message)) == "" && !p.Has(at+".message") {
		p.Invalid(at+".message", "required in an auto_email")
	}
	if strings.ContainsAny(string(s.Subject), "\r\n") {
		p.Invalid(at+".subject", "must be a single line")
	}
	title := check.text(at+".title", string(s.Title), nil, "a title cannot include a block")
	subject := check.text(at+".subject", string(s.Subject), nil, "a subject cannot include a block")
	message := check.text(at+".message", string(s.Message), blocks, "")
	if message.chars > maxMessageChars {
		p.Invalid(at+".message", "must be at most %d characters including blocks, not %d", maxMessageChars, message.chars)
	}
	if s.Type == AutoEmail {
		message.links = 0
	}
	for _, part := range []struct {
		name string
		size textSize
	}{{".title", title}, {".subject", subject}, {".message", message}} {
		if part.size.links > 0 {
			p.Invalid(at+part.name, "{{%s}} is only allowed in the message of an auto_email", UnsubscribeURL)
		}
		total.add(part.size)
	}
	return total
}

// text reports unknown tokens and blocks of a text, and returns its size including blocks. noBlocks
// is the reason why the text cannot include blocks, if it cannot.
func (c *checker) text(at, text string, blocks map[string]textSize, noBlocks string) (total textSize) {
	for _, piece := range parse(text) {
		switch piece.kind {
		case tokenPiece:
			total.tokens++
			if name := c.token(at, piece); name == UnsubscribeURL {
				total.links++
			}
		case blockPiece:
			block, known := blocks[piece.text]
			total.add(block)
			if noBlocks != "" {
				c.p.Invalid(at, "%s is not allowed: %s", shorten(piece.raw), noBlocks)
			} else if !known {
				c.p.Invalid(at, "unknown block %s", shorten(piece.raw))
			}
		case unclosedPiece:
			c.p.Invalid(at, "%s has no closing %s", piece.text, closing[piece.text])
		default:
			total.chars += utf8.RuneCountInString(piece.text)
		}
	}
	return total
}

// token reports a token that does not exist or has an invalid fallback, and returns its name.
func (c *checker) token(at string, piece piece) (name string) {
	name, fallback, _ := splitToken(piece.text)
	if why := c.tokens(name); why != "" {
		c.p.Invalid(at, "unknown token %s; %s", shorten(piece.raw), why)
	} else if strings.Contains(fallback, tokenOpen) {
		c.p.Invalid(at, "%s: a fallback cannot contain %s", shorten(piece.raw), tokenOpen)
	}
	return name
}

// shorten cuts a text for an error message.
func shorten(s string) string {
	const maxShown = 60
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}

// checkTransitions reports invalid transitions. Unknown steps are reported only if hasAllIndexes,
// because otherwise the transition may mean a step whose index could not be read.
func (c *Content) checkTransitions(hasAllIndexes bool, p *fault.Problems) {
	if p.At("transitions") { // missing, or not given together with the steps
		return
	}
	known := make(map[int]bool, len(c.Steps))
	for _, s := range c.Steps {
		known[s.Index] = true
	}
	outgoing := map[int][]int{} // by step index: positions of the transitions that lead from it
	for i, t := range c.Transitions {
		at := fmt.Sprintf("transitions[%d]", i)
		if p.At(at) {
			continue
		}
		hasSteps := true
		for _, end := range []struct {
			path string
			step int
		}{{at + ".from_step_index", t.FromStepIndex}, {at + ".to_step_index", t.ToStepIndex}} {
			switch {
			case p.At(end.path):
				hasSteps = false
			case !known[end.step]:
				hasSteps = false
				if hasAllIndexes {
					p.Invalid(end.path, "%d is not the index of a step", end.step)
				}
			}
		}
		switch {
		case hasSteps && t.FromStepIndex == t.ToStepIndex:
			p.Invalid(at+".to_step_index", "must not be equal to from_step_index")
		case hasSteps:
			outgoing[t.FromStepIndex] = append(outgoing[t.FromStepIndex], i)
		}
		checkDelay(at+".pre_check", t.PreCheckDelay, string(t.PreCheckTimeUnit), p)
		checkDelay(at+".post_check", t.PostCheckDelay, string(t.PostCheckTimeUnit), p)
	}
	c.checkCycles(outgoing, p)
}

// checkDelay reports an invalid delay. prefix is the common beginning of its field names.
func checkDelay(prefix string, delay int, unit string, p *fault.Problems) {
	switch {
	case p.At(prefix+"_time_unit") || p.At(prefix+"_delay"):
	case delay > 0 && unit == "":
		p.Invalid(prefix+"_time_unit", "required with a delay")
	case delay > maxDelayDays && strings.HasSuffix(unit, "days"):
		p.Invalid(prefix+"_delay", "must be at most %d %s, not %d", maxDelayDays, strings.ReplaceAll(unit, "_", " "), delay)
	}
}

// checkCycles reports every transition that closes a cycle, by a depth-first search.
func (c *Content) checkCycles(outgoing map[int][]int, p *fault.Problems) {
	const onPath, done = 1, 2
	state := make(map[int]int, len(c.Steps))
	var visit func(step int)
	visit = func(step int) {
		state[step] = onPath
		for _, i := range outgoing[step] {
			switch to := c.Transitions[i].ToStepIndex; state[to] {
			case onPath:
				p.Invalid(fmt.Sprintf("transitions[%d].to_step_index", i), "closes a cycle through step %d", to)
			case done:
			default:
				visit(to)
			}
		}
		state[step] = done
	}
	for _, s := range c.Steps {
		if state[s.Index] == 0 {
			visit(s.Index)
		}
	}
}
