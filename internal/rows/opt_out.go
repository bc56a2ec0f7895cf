package rows

import (
	"slices"
	"strings"
	"unicode/utf8"

	"prospector/internal/shape"
)

// This file has the words with which tables say that somebody has opted out. Columns that say it by their name are in
// known_headers.txt: in a column of flags (do_not_contact) every value but a no opts out, in a column of a status
// (opt_out_status) only optOutWords do.

// optOutWords are the values that opt out, folded by foldHeader.
var optOutWords = wordSet(
	"unsubscribed", "unsubscribe", "opted out", "opt out", "optout", "do not contact", "do not email", "do not mail", "dnc", "never contact", "globally unsubscribed", "opted-out",
	"abgemeldet", "abbestellt", "ausgetragen", "nicht kontaktieren", "Kontaktsperre", "Werbesperre", "keine Werbung", "keine E-Mails", "Widerspruch", "widersprochen",
	"désabonné", "désabonnée", "désinscrit", "désinscrite", "ne pas contacter",
	"dado de baja", "dada de baja", "no contactar", "no enviar", "desuscrito", "desuscrita", // not "baja": a low priority
	"emailsUnsubscribed", "leadUnsubscribed",
)

// optInWords are values that mean no in a column that somebody mapped to do_not_contact.
var optInWords = wordSet(
	"subscribed", "active", "opted in", "opt in", "optin", "confirmed", "abonniert", "angemeldet", "aktiv", "abonné", "abonnée", "inscrit", "inscrite", "actif",
	"suscrito", "suscrita", "activo", "activa",
)

// optOutParts are parts of the names of columns of opt-outs, folded. A column with such a name that no list has is asked about.
var optOutParts = []string{
	"unsub", "optout", "optedout", "donotcontact", "donotemail", "donotmail", "nocontact", "blacklist", "abgemeldet", "abmeld", "abbestell", "widerspr", "werbesperre", "kontaktsperre",
	"keinewerbung", "keineemail", "nichtkontaktieren", "desabonn", "desinscri", "nepascontacter", "nocontactar", "noenviar", "dadodebaja", "desuscri",
}

// otherParts are parts of the names of columns that say something else: calls, faxes, opt-ins, newsletters and bounces.
var otherParts = []string{"call", "anruf", "fax", "phone", "sms", "telefon", "optin", "optedin", "newsletter", "bounce", "marketingcontactstatus"}

func wordSet(words ...string) map[string]bool {
	set := map[string]bool{}
	for _, word := range words {
		set[foldHeader(word)] = true
	}
	return set
}

// longestOptOutWord bounds the values that are compared with the words.
const longestOptOutWord = 40

// optOutEnds are the first and last letters of the words, which tell most values apart from them at once.
var optOutEnds = func() map[[2]byte]bool {
	ends := map[[2]byte]bool{}
	for word := range optOutWords {
		ends[[2]byte{word[0], word[len(word)-1]}] = true
	}
	return ends
}()

func isOptOutWord(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) < 3 || len(text) > longestOptOutWord {
		return false
	}
	first, last := text[0]|0x20, text[len(text)-1]|0x20
	mayBe := optOutEnds[[2]byte{first, last}] || first >= utf8.RuneSelf || last >= utf8.RuneSelf
	return mayBe && optOutWords[foldHeader(text)]
}

// saysOptOut reports whether a text, or a part of it that stands apart, is one of the words: "Unsubscribed (2024-05-01)" and
// "bounced, unsubscribed" are.
func saysOptOut(text string) bool {
	if isOptOutWord(text) {
		return true
	}
	const apart = ",;|()[]"
	if len(text) > 2*longestOptOutWord || !strings.ContainsAny(text, apart) {
		return false
	}
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(apart, r) }), isOptOutWord)
}

// soundsLikeOptOut reports whether the name of a column that is not recognized may be one of opt-outs.
func soundsLikeOptOut(name string) bool {
	folded := foldHeader(name)
	return slices.ContainsFunc(optOutParts, func(part string) bool { return strings.Contains(folded, part) }) && !isOther(name)
}

// isOther reports whether the name of a column says that it is about something else than opt-outs of emails.
func isOther(name string) bool {
	folded := foldHeader(name)
	return slices.ContainsFunc(otherParts, func(part string) bool { return strings.Contains(folded, part) })
}

// optOuts is what the values of a column say about opting out.
type optOuts struct {
	words      []string // the first ones that opt out as a whole value
	unreadable []string // the first ones of a column of flags that are neither a yes, a no, a date nor such a word
	count      int      // of the unreadable ones
}

// noteOptOut takes a value into account.
func (p *column[T]) noteOptOut(text string) {
	e := &p.optOuts
	note := func(list *[]string) {
		if len(*list) < maxSamples && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	if saysOptOut(text) {
		note(&e.words)
		return
	}
	if p.isFlag && p.isUnreadable(text) {
		e.count++
		note(&e.unreadable)
	}
}

// isUnreadable reports whether a value of a column of flags is neither a yes, a no, a date nor a word that opts out, and so opts
// out only because it is there.
func (p *column[T]) isUnreadable(text string) bool {
	bare := strings.TrimSpace(text)
	_, isBool := ParseBool(bare)
	_, isDate := parseDate(bare, p.style)
	return !isBool && !isDate && bare != "" && !isNoValue(bare, false) && !saysOptOut(text)
}

// MappingRequired is the code of a question about a column that may have opt-outs. Its choices are fields that the column can
// be mapped to, and "" for none.
const MappingRequired = "mapping_required"

// The fields of opt-outs.
const (
	optOutFlag   = "do_not_contact"
	optOutStatus = "opt_out_status"
)

// asksAboutOptOuts reports whether columns of the table may have opt-outs that the table of headers does not know.
func (c *Columns[T]) asksAboutOptOuts() bool {
	t, has := c.fields.Targets[optOutFlag]
	return has && t.target().OptOut
}

func (c *Columns[T]) isOptOut(field string) bool { return field == optOutFlag || field == optOutStatus }

// askAboutOptOuts asks about columns that may have opt-outs, and about those whose values cannot be read although they would
// opt out more than a tenth of the rows.
func (c *Columns[T]) askAboutOptOuts() {
	if !c.asksAboutOptOuts() {
		return
	}
	var none T
	for _, p := range c.all() {
		e := &p.optOuts
		_, mapped := c.mapping[p.name]
		samples := e.words
		switch {
		case mapped:
			continue
		case p.isFlag && 10*e.count > c.surveyed:
			samples = e.unreadable
		case p.target != none || isOther(p.name) || len(e.words) == 0 && !soundsLikeOptOut(p.name):
			continue
		}
		q := Question{Code: MappingRequired, Column: askedName(p.name), Samples: []string{}, Choices: []string{optOutFlag, optOutStatus, ""}}
		for _, text := range samples {
			q.Samples = append(q.Samples, shorten(text))
		}
		c.questions = append(c.questions, q)
	}
}

// all returns the columns of the table.
func (c *Columns[T]) all() (list []*column[T]) {
	for i := range c.assigned {
		list = append(list, &c.assigned[i])
	}
	for _, path := range c.paths {
		list = append(list, c.members[path])
	}
	return list
}

// optOut returns the value of a text in a column of opt-outs, and whether it decides.
func (t *Target) optOut(text string, isMapped bool) (v shape.Value, decides bool) {
	switch {
	case t.Status:
		if saysOptOut(text) {
			return shape.Value{Kind: shape.Bool, True: true}, true
		}
		return v, true
	case t.OptOut && isMapped && len(text) <= longestOptOutWord && optInWords[foldHeader(text)]:
		return shape.Value{Kind: shape.Bool}, true
	case t.OptOut && saysOptOut(text):
		return shape.Value{Kind: shape.Bool, True: true}, true
	}
	return v, false
}
