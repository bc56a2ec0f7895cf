package offline

import "strings"

// The English that is understood. Words are folded.

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	abbreviations = set("inc ltd co corp mr mrs ms dr st no e.g eg i.e ie approx vs etc est bros llc gmbh dept")
	parents       = set("group holding holdings") // are mostly another company, where the name has no such word
	legalForms    = set("inc ltd llc co corp corporation gmbh ag sa plc bv nv ab oy as group holding holdings limited company")

	determiners = set("a an the its their our any some this")
	firmNouns   = set("company business organization organisation firm enterprise vendor startup corporation")
	// kindNouns say nothing more at the end of a question, but for a business of which ofBusiness says more.
	kindNouns  = set("company business organization organisation firm corporation")
	ofBusiness = set("family small social big local online medium sized show own")
	subjects   = set("company business organization organisation firm account prospect enterprise vendor startup employer")
	// firms are how a description speaks of the company itself.
	firms = set("company business organization organisation firm")
	// headNouns are what a company can be that does what stands before.
	headNouns = set(`company business organization organisation firm enterprise vendor startup corporation provider supplier seller retailer maker manufacturer producer developer
		distributor operator builder wholesaler agency platform marketplace brand consultancy brewery bakery winery importer exporter contractor`)
	// attributes may be said of a company before any of them.
	attributes = set("b2b b2c d2c family-owned family-run privately-owned privately-held employee-owned woman-owned women-owned bootstrapped")
	// roles are whom one hires.
	roles = set(`engineers developers designers people staff employees talent talents salespeople technicians drivers nurses apprentices interns electricians mechanics
		programmers accountants cooks colleagues graduates`)
	pasts = set("made built sold bought held led taught written grown won run ran given")
	// offered are things that one has who offers them.
	offered = set("trial trials app apps api apis support plan plans program programs programme programmes warranty warranties newsletter demo subscription subscriptions")
	// adverbs change nothing about whether something is so.
	adverbs = set("also currently now today proudly already both still actively presently directly successfully mainly primarily mostly only always")

	// askNot are words in a question that make it another than its words together say.
	askNot = set(`not no never none neither nor without except excluding instead rather unless other besides only exclusively solely mainly primarily
		mostly predominantly more less fewer least most than if when while until formerly previously former cannot longer same our your my we you`)
	// doubts are words in a sentence that deny it, or say it of another time or of a mere possibility.
	doubts = set(`not no never none nothing nobody neither nor cannot without except excluding exception instead rather unless unlike formerly former previously
		past longer plan plans planned planning hope hopes hoping hoped intend intends intended aim aims aiming aimed seek seeks seeking want wants wanted wanting
		wish wishes aspire aspires aspiring consider considers considering considered explore explores exploring evaluate evaluates evaluating would could might may
		should shall will if whether soon upcoming future eventually hardly barely rarely seldom scarcely almost until stopped stop stops ceased ceases discontinued
		quit avoid avoids refuse refuses lack lacks lacking ban bans abandoned deprecated deprecating ex try tries trying tried fail fails failed unable allegedly claims
		claim claimed rumored rumoured reportedly imagine pretend pretends myth false untrue incorrect wrong wrongly replaced replacing replaces migrated migrating moved
		moving than few zero once doubt unclear unknown unlikely supposedly expects expected expect when before pending tomorrow dream dreams dropped drops
		non anti terminated sunset retired hypothetical suppose assuming instance example ended ends ending closed closing phasing phased expired lapsed theoretically ideally perhaps maybe historically originally starting roadmap goal goals announced launching rumor rumour rumors rumours slogan motto say says said
		believe believes believed think thinks thought ask asks asked called`)
	// contradictions begin a sentence that takes back the one before it.
	contradictions = set("coming starting soon not no except but however unless until formerly wrong false")

	prepositions = set(`to for in with on at by from of through via across within into throughout over under between among around per about as using without
		onto towards toward against like during since before after inside outside near beyond`)
	separators = set("and or &")
	// enders may follow what was looked for without changing it.
	enders = set("worldwide online globally internationally nationwide alike today now too last anywhere everywhere currently also daily")
	// behind are the prepositions that may follow what was looked for.
	behind  = set("to for in with on at by from of through via across within throughout around over near")
	seating = set("in from at near")
	// turns are words behind it that may take back what was said, or limit it.
	turns = set(`that which who whose where because so but while whereas although though however since until only as he she they them these those there is are was were
		has have had does do did theory principle`)
	pronouns = set("it they we he she i you them us him her who that which these those there")
	// privative words before a noun make it something else.
	privative = set(`toy doll dolls dollhouse fake model imitation faux artificial mock replica virtual vegan vegetarian meatless synthetic miniature alternative decaf scale dummy
		counterfeit simulated hot pseudo play substitute plant based free fictional former anti non`)
	// harmless words before a noun leave it what it is.
	harmless = set(`leading global international national regional local innovative new used modern independent professional premium public private high quality
		affordable custom digital own many several various all different organic sustainable smart fast growing small large big mid medium sized young established
		european german french british american b2b b2c popular reliable secure top best major well known renowned listed family owned world award winning full service great`)
	// subsective nouns stay what they are whatever stands before them.
	subsective = set(`software hardware services solutions products equipment machines machinery tools systems consulting training courses insurance furniture clothing
		apparel appliances support advice devices apps applications api apis funding certifications certificates positions`)
	// between a verb and a "to", these make the "to" belong to them.
	relays = set("access exposure link links bridge bridges gateway gateways route routes introduction introductions guide guides approach alternative alternatives ads connection connections")
	// notPlural end like plurals, and stand before other nouns all the same.
	notPlural = set("sales sports systems operations logistics electronics analytics news savings arms services goods robotics optics ceramics textiles materials")

	// companions are others than the company, whose industry, country and so on the catalogue does not have.
	companions = set(`customer customers client clients competitor competitors competition partner partners parent supplier suppliers investor investors owner owners
		subsidiary subsidiaries acquirer target targets founder founders ceo buyer buyers user users audience rival rivals vendor vendors provider providers`)
	// toolNouns are kinds of technologies.
	toolNouns = set(`crm erp cloud database databases stack platform platforms tool tools software cms language languages framework frameworks technology technologies
		system systems analytics helpdesk hosting`)
	// homonyms are technologies and other things; a list that has one of techWords is of technologies.
	homonyms  = set("ruby sage java rust swift outreach notion amber dart crystal spark ember flask falcon")
	techWords = set("python go golang rails kubernetes docker aws azure sql javascript typescript postgresql mysql react node.js c++ c# kotlin php linux terraform")
	// makers precede the names of their technologies.
	makers = set("microsoft amazon google apache ibm oracle adobe aws sap atlassian hashicorp")
	// stack is what of a company uses technologies.
	stack = set("platform stack infrastructure team teams engineers developers backend frontend website service services systems")
)

// senses are the verbs of a sentence that say what a verb of a question asks for. A verb that is not here says itself.
var senses = map[string][]string{
	"offer":       {"offer", "provide", "supply", "sell"},
	"provide":     {"provide", "offer", "supply", "sell"},
	"supply":      {"supply", "provide"},
	"make":        {"make", "produce", "manufacture", "build", "create"},
	"produce":     {"produce", "make", "manufacture"},
	"manufacture": {"manufacture", "make", "produce"},
	"build":       {"build", "make", "manufacture", "produce"},
	"create":      {"create", "make"},
	"hire":        {"hire", "recruit"},
	"recruit":     {"recruit", "hire"},
	"use":         {"use", "utilise", "utilize", "leverage", "run"},
}

// agents are who does what a verb says, as in "a provider of".
var agents = map[string]string{
	"provider": "provide", "supplier": "supply", "seller": "sell", "retailer": "sell", "maker": "make", "manufacturer": "manufacture", "producer": "produce",
	"developer": "develop", "distributor": "distribute", "operator": "operate", "builder": "build",
}

var irregular = map[string]string{ // pasts
	"sell": "sold", "make": "made", "build": "built", "have": "had", "run": "ran", "hold": "held", "buy": "bought", "teach": "taught", "lead": "led", "grow": "grew",
	"give": "gave", "get": "got", "do": "did", "win": "won", "go": "went", "lend": "lent", "pay": "paid", "write": "wrote", "spend": "spent",
}

// present gives the form of a verb that goes with it.
func present(verb string) string {
	n := len(verb)
	switch {
	case verb == "have":
		return "has"
	case n > 1 && verb[n-1] == 'y' && !strings.ContainsRune("aeiou", rune(verb[n-2])):
		return verb[:n-1] + "ies"
	case strings.HasSuffix(verb, "s"), strings.HasSuffix(verb, "x"), strings.HasSuffix(verb, "ch"), strings.HasSuffix(verb, "sh"), strings.HasSuffix(verb, "o"):
		return verb + "es"
	}
	return verb + "s"
}

// past gives the past of a verb, in the two ways that a last consonant may be written.
func past(verb string) []string {
	if p := irregular[verb]; p != "" {
		return []string{p}
	}
	return ending(verb, "ed")
}

func ending(verb, with string) []string {
	n := len(verb)
	switch {
	case strings.HasSuffix(verb, "e"):
		return []string{verb[:n-1] + with}
	case with == "ed" && n > 1 && verb[n-1] == 'y' && !strings.ContainsRune("aeiou", rune(verb[n-2])):
		return []string{verb[:n-1] + "ied"}
	}
	return []string{verb + with, verb + verb[n-1:] + with}
}

// base undoes present; ok tells whether a word can be such a form.
func base(w string) (verb string, ok bool) {
	n := len(w)
	switch {
	case w == "has":
		return "have", true
	case n < 4 || w[n-1] != 's' || strings.HasSuffix(w, "ss"):
		return w, false
	case strings.HasSuffix(w, "ies"):
		return w[:n-3] + "y", true
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "oes"):
		return w[:n-2], true
	}
	return w[:n-1], true
}

// doubtful tells whether a word puts what its sentence says in doubt.
func doubtful(w string) bool { return doubts[w] || strings.HasSuffix(w, "n't") }
