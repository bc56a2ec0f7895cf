package offline

import (
	"strings"

	"prospector/internal/shape"
)

// countryNames are the states whose names tell that a company is in one and so in no other: code, name, other names. Places that
// are counted to another state by some are not among them.
const countryNames = `AE United Arab Emirates|UAE;AF Afghanistan;AL Albania;AM Armenia;AO Angola;AR Argentina;AT Austria;AU Australia;AZ Azerbaijan;BA Bosnia and Herzegovina|Bosnia;
BD Bangladesh;BE Belgium;BG Bulgaria;BH Bahrain;BJ Benin;BN Brunei;BO Bolivia;BR Brazil;BW Botswana;BY Belarus;CA Canada;CH Switzerland;CI Ivory Coast|Côte d'Ivoire;
CL Chile;CM Cameroon;CN China;CO Colombia;CR Costa Rica;CU Cuba;CY Cyprus;CZ Czechia|Czech Republic;DE Germany;DK Denmark;DO Dominican Republic;DZ Algeria;EC Ecuador;
EE Estonia;EG Egypt;ES Spain;ET Ethiopia;FI Finland;FR France;GB United Kingdom|UK|Great Britain;GE Georgia;GH Ghana;GR Greece;GT Guatemala;HN Honduras;HR Croatia;
HU Hungary;ID Indonesia;IE Ireland|Republic of Ireland;IL Israel;IN India;IQ Iraq;IR Iran;IS Iceland;IT Italy;JM Jamaica;JO Jordan;JP Japan;KE Kenya;KH Cambodia;
KR South Korea|Republic of Korea;KW Kuwait;KZ Kazakhstan;LB Lebanon;LI Liechtenstein;LK Sri Lanka;LT Lithuania;LU Luxembourg;LV Latvia;MA Morocco;MC Monaco;MD Moldova;
ME Montenegro;MK North Macedonia;MM Myanmar;MN Mongolia;MT Malta;MU Mauritius;MX Mexico;MY Malaysia;MZ Mozambique;NA Namibia;NG Nigeria;NI Nicaragua;
NL Netherlands|Holland;NO Norway;NP Nepal;NZ New Zealand;OM Oman;PA Panama;PE Peru;PH Philippines;PK Pakistan;PL Poland;PT Portugal;PY Paraguay;QA Qatar;RO Romania;
RS Serbia;RU Russia|Russian Federation;RW Rwanda;SA Saudi Arabia;SE Sweden;SG Singapore;SI Slovenia;SK Slovakia;SN Senegal;SV El Salvador;SY Syria;TH Thailand;
TN Tunisia;TR Turkey|Türkiye;TZ Tanzania;UA Ukraine;UG Uganda;US United States|USA|US|United States of America;UY Uruguay;UZ Uzbekistan;VE Venezuela;VN Vietnam|Viet Nam;
ZA South Africa;ZM Zambia;ZW Zimbabwe`

// nations are the adjectives of states, as in "a German company".
var nations = map[string]string{
	"american": "United States", "australian": "Australia", "austrian": "Austria", "belgian": "Belgium", "brazilian": "Brazil", "british": "United Kingdom",
	"canadian": "Canada", "chinese": "China", "czech": "Czechia", "danish": "Denmark", "dutch": "Netherlands", "estonian": "Estonia", "finnish": "Finland",
	"french": "France", "german": "Germany", "greek": "Greece", "hungarian": "Hungary", "indian": "India", "irish": "Ireland", "israeli": "Israel",
	"italian": "Italy", "japanese": "Japan", "mexican": "Mexico", "norwegian": "Norway", "polish": "Poland", "portuguese": "Portugal", "romanian": "Romania",
	"spanish": "Spain", "swedish": "Sweden", "swiss": "Switzerland", "turkish": "Turkey", "ukrainian": "Ukraine",
}

// countries gives the code of a state by its names, folded, and by the code itself.
var countries = func() map[string]string {
	m := map[string]string{}
	for entry := range strings.SplitSeq(strings.ReplaceAll(countryNames, "\n", ""), ";") {
		code, names, _ := strings.Cut(entry, " ")
		m[shape.Fold(code)] = code
		for name := range strings.SplitSeq(names, "|") {
			m[placeKey(name)] = code
		}
	}
	return m
}()

// stateNames gives the names of a state by its code, with its adjective.
var stateNames = func() map[string][][]token {
	m := map[string][][]token{}
	for key, code := range countries {
		if stateName(key) {
			m[code] = append(m[code], words(key))
		}
	}
	for nation, name := range nations {
		code := countries[placeKey(name)]
		m[code] = append(m[code], words(nation))
	}
	return m
}()

// stateName tells whether a key is the name of a state; codes are words of other kinds too.
func stateName(key string) bool {
	return countries[key] != "" && (len(key) > 2 || key == "us" || key == "uk")
}

// placeKey is a name as places are compared by.
func placeKey(name string) string {
	key := strings.Join(strings.Fields(strings.ReplaceAll(shape.Fold(name), ".", "")), " ")
	return strings.TrimPrefix(key, "the ")
}

// place is what a question asks for by "in": one name, or several that a comma joins, each within the next. Several states, and what
// a slash joins, are no place.
type place struct {
	keys    []string
	country string // the code, when the last is the name of a state
}

func placeOf(tokens []token) (place, bool) {
	var p place
	var name []string
	flush := func() {
		if len(name) > 0 {
			p.keys = append(p.keys, placeKey(strings.Join(name, " ")))
			name = nil
		}
	}
	for i, t := range tokens {
		if t.join == listed {
			flush()
		}
		if prepositions[t.word] && t.word != "of" || t.slashed || i > 0 && t.join == stopped || t.word == "or" || t.possessive || len(tokens) > 8 {
			return place{}, false
		}
		name = append(name, t.word)
	}
	flush()
	if len(p.keys) == 0 {
		return place{}, false
	}
	last := p.keys[len(p.keys)-1]
	if stateName(last) {
		p.country = countries[last]
	}
	for _, key := range p.keys {
		of := strings.Contains(key, " of ") && !stateName(key)
		other := stateName(key) && key != last && countries[key] != p.country && (countries[key] != "GE" || p.country != "US")
		if of || other {
			return place{}, false
		}
	}
	return p, true
}

// inPlace judges by country and location whether a company is in a place. It is not when both are states and not the same.
func (f *facts) inPlace(p place) finding {
	country, location := string(f.c.Country), string(f.c.Location)
	within := map[string]bool{}
	for part := range strings.SplitSeq(location, ",") {
		within[placeKey(part)] = true
	}
	here := countries[placeKey(country)]
	if end := placeKey(location[strings.LastIndex(location, ",")+1:]); country == "" && p.country != "" && stateName(end) && countries[end] == p.country {
		within[p.keys[len(p.keys)-1]] = true
	}
	for i, key := range p.keys {
		if i == len(p.keys)-1 {
			break
		}
		if !within[key] {
			return f.otherCountry(p, here)
		}
	}
	last := p.keys[len(p.keys)-1]
	switch {
	case country != "" && (placeKey(country) == last || p.country != "" && here == p.country):
		if len(p.keys) > 1 {
			return f.field(yes, "location", location)
		}
		return f.field(yes, "country", country)
	case within[last] && (p.country == "" || here == "" || here == p.country):
		return f.field(yes, "location", location)
	case within[last]:
		return unsure(ambiguous) // such as Georgia
	}
	return f.otherCountry(p, here)
}

// otherCountry is that the company is in another state, if it is.
func (f *facts) otherCountry(p place, here string) finding {
	if p.country == "" || here == "" || here == p.country {
		return unsure(notInCatalog)
	}
	near := strings.Contains(placeKey(string(f.c.Location)), p.keys[0]) && len(p.keys) > 2
	if p.country == "GE" && here == "US" || near { // the state is called so too; a list of places
		return unsure(ambiguous)
	}
	return f.field(no, "country", string(f.c.Country))
}
