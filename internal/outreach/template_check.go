package outreach

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"prospector/internal/fault"
)

// What a template may have in all: it is rendered for many contacts, and values may be long.
const (
	messageMost = 100_000   // characters of a message with its blocks
	contentMost = 1_000_000 // characters of all its texts, with their blocks
	tokensMost  = 1_000     // in all its texts, with their blocks
	daysMost    = 1_000     // of a delay: a plan must stay within the years that can be written
)

// check notes all that is wrong with the content of a template beyond the form of its fields.
func (c *Content) check(p *fault.Problems) {
	blocks := map[string]size{}
	for _, id := range slices.Sorted(maps.Keys(c.Blocks)) {
		at := "blocks." + id + ".content"
		blocks[id] = checkText(at, string(c.Blocks[id].Content), nil, "a block cannot include another", p)
	}
	whole := !p.At("steps") // where an index cannot be read, nobody knows which step is meant
	for i := range c.Steps {
		whole = whole && c.indexed(i, p)
	}
	var all size
	for i := range c.Steps {
		all.add(c.checkStep(i, blocks, p))
	}
	if all.characters > contentMost {
		p.Invalid("steps", "have texts of more than %d characters in all, with their blocks", contentMost)
	}
	if all.tokens > tokensMost {
		p.Invalid("steps", "have more than %d tokens in all, with their blocks", tokensMost)
	}
	c.checkTransitions(whole, p)
}

// size is how much there is in a text.
type size struct{ characters, tokens int }

func (s *size) add(o size) {
	s.characters += o.characters
	s.tokens += o.tokens
}

func (c *Content) checkStep(i int, blocks map[string]size, p *fault.Problems) (all size) {
	s, at := &c.Steps[i], stepAt(i)
	for j := range i {
		if c.indexed(j, p) && c.indexed(i, p) && c.Steps[j].Index == s.Index {
			p.Invalid(at+".index", "is that of steps[%d] too", j)
			break
		}
	}
	for j := range i {
		if s.ID != "" && c.Steps[j].ID == s.ID {
			p.Invalid(at+".id", "is that of steps[%d] too", j)
			break
		}
	}
	if s.Type == AutoEmail && strings.TrimSpace(string(s.Message)) == "" && !p.Has(at+".message") {
		p.Invalid(at+".message", "required in an auto_email")
	}
	if strings.ContainsAny(string(s.Subject), "\r\n") {
		p.Invalid(at+".subject", "must be one line")
	}
	all = checkText(at+".title", string(s.Title), nil, "a title cannot include a block", p)
	all.add(checkText(at+".subject", string(s.Subject), nil, "a subject cannot include a block", p))
	message := checkText(at+".message", string(s.Message), blocks, "", p)
	if message.characters > messageMost {
		p.Invalid(at+".message", "has more than %d characters with its blocks", messageMost)
	}
	all.add(message)
	return all
}

func stepAt(i int) string { return fmt.Sprintf("steps[%d]", i) }

// indexed tells whether the index of a step could be read and is its own.
func (c *Content) indexed(i int, p *fault.Problems) bool {
	return !p.At(stepAt(i)) && !p.At(stepAt(i)+".index")
}

// checkText notes tokens and blocks of a text that are not known, and tells how much is in it. Where there can be no blocks, noBlocks
// says so.
func checkText(at, text string, blocks map[string]size, noBlocks string, p *fault.Problems) (all size) {
	for _, piece := range parse(text) {
		switch piece.kind {
		case tokenPiece:
			all.tokens++
			if !isToken(piece.text) {
				p.Invalid(at, "has the unknown token %s; known are %s", shortened(piece.raw), knownTokens)
			}
		case blockPiece:
			block, known := blocks[piece.text]
			all.add(block)
			if noBlocks != "" {
				p.Invalid(at, "has %s: %s", shortened(piece.raw), noBlocks)
			} else if !known {
				p.Invalid(at, "has %s, and there is no such block", shortened(piece.raw))
			}
		case openPiece:
			p.Invalid(at, "has %s without its end", piece.text)
		default:
			all.characters += utf8.RuneCountInString(piece.text)
		}
	}
	return all
}

// shortened is as much of a text as a message needs.
func shortened(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// checkTransitions notes what is wrong with the transitions. The indexes of the steps are known where they are whole.
func (c *Content) checkTransitions(whole bool, p *fault.Problems) {
	if p.At("transitions") { // they are missing, or not those of these steps
		return
	}
	steps := make(map[int]bool, len(c.Steps))
	for _, s := range c.Steps {
		steps[s.Index] = true
	}
	next := map[int][]int{} // by step: the transitions that lead from it
	for i, t := range c.Transitions {
		at := fmt.Sprintf("transitions[%d]", i)
		if p.At(at) {
			continue
		}
		lead := true
		for _, end := range []struct {
			path string
			step int
		}{{at + ".from_step_index", t.FromStepIndex}, {at + ".to_step_index", t.ToStepIndex}} {
			switch {
			case p.At(end.path):
				lead = false
			case !steps[end.step]:
				lead = false
				if whole {
					p.Invalid(end.path, "is the index of no step")
				}
			}
		}
		switch {
		case lead && t.FromStepIndex == t.ToStepIndex:
			p.Invalid(at+".to_step_index", "leads back to the step itself")
		case lead:
			next[t.FromStepIndex] = append(next[t.FromStepIndex], i)
		}
		checkDelay(at+".pre_check", t.PreCheckDelay, string(t.PreCheckTimeUnit), p)
		checkDelay(at+".post_check", t.PostCheckDelay, string(t.PostCheckTimeUnit), p)
	}
	c.checkCycles(next, p)
}

// checkDelay notes what is wrong with a delay, whose fields begin with the same words.
func checkDelay(at string, delay int, unit string, p *fault.Problems) {
	switch {
	case p.At(at+"_time_unit") || p.At(at+"_delay"):
	case delay > 0 && unit == "":
		p.Invalid(at+"_time_unit", "required with a delay")
	case delay > daysMost && strings.HasSuffix(unit, "days"):
		p.Invalid(at+"_delay", "must be at most %d %s", daysMost, strings.ReplaceAll(unit, "_", " "))
	}
}

// checkCycles notes every transition that closes a cycle.
func (c *Content) checkCycles(next map[int][]int, p *fault.Problems) {
	const under, done = 1, 2
	state := make(map[int]int, len(c.Steps))
	var visit func(step int)
	visit = func(step int) {
		state[step] = under
		for _, i := range next[step] {
			switch to := c.Transitions[i].ToStepIndex; state[to] {
			case under:
				p.Invalid(fmt.Sprintf("transitions[%d].to_step_index", i), "closes a cycle: step %d leads here already", to)
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
