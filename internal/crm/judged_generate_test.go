package crm_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// judgedFile has pairs of records of fictional people, two lines for each pair: the pair, whether it is one person, why the pair
// is there, and then account, first name, last name, email, phone number and LinkedIn URL. hardFile has more, written by hand.
// In it a pair may have more than two records, of which no two are the same person if it says no.
const (
	judgedFile = "testdata/duplicates.tsv"
	hardFile   = "testdata/duplicates_hard.tsv"
)

var generate = flag.Bool("generate", false, "write "+judgedFile+" again")

// person is a record of the collection.
type person struct{ account, first, last, email, phone, linkedIn string }

// judged generates pairs. Each pair has an account of its own, so that it can be judged: only what the pair shares can make
// it one person.
type judged struct {
	*rand.Rand
	out strings.Builder
	n   int
}

func (g *judged) one(of ...string) string { return of[g.IntN(len(of))] }

func (g *judged) pair(same bool, why string, a, b person) {
	g.n++
	word := map[bool]string{true: "yes", false: "no"}[same]
	for _, p := range []person{a, b} {
		fmt.Fprintf(&g.out, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", g.n, word, why, p.account, p.first, p.last, p.email, p.phone, p.linkedIn)
	}
}

var (
	firstNames = strings.Fields(`Andrea Bettina Carla Doris Elke Franka Gerda Hilde Irina Judith Karina Lena Marta Nora Olga Petra Rosa Silke Tina Ute Vera Wanda Ada Björn Carsten Dirk Enno Frank
		Gero Hauke Ingo Jens Kai Lars Malte Nils Ole Paul Ralf Sven Timo Udo Volker Wolf Yann Claire Denis Elise Gilles Hugo Inès Léa Marc Noé Régis Yves Álvaro Blanca Diego Irene Iván Lidia
		Marcos Nuria Pablo Rubén Sonia Owen Hazel Ivy Jasper Kieran Nolan Ruby Sean Wyatt`)
	lastNames = strings.Fields(`Abendroth Bergmann Clausnitzer Dornfeld Eisenhardt Falkenstein Grünewald Hartwig Ingelheim Jankowski Kirchhoff Löwenthal Morgenroth Niederberg Oppenheim Pfaffenbach
		Quandt Rosenkranz Sonnenberg Thalheim Unterberg Vogelsang Weidenfeld Zimmerwald Beaumont Chevalier Delacroix Fontaine Gauthier Lemaître Marchand Pelletier Rousselle Villeneuve
		Alvarado Benítez Cabrera Domínguez Escribano Figueroa Gutiérrez Hinojosa Jaramillo Laguna Montoya Navarrete Ordóñez Palacios Quintero Rivadeneira Sepúlveda Talavera Valverde
		Ashworth Blackwood Carmichael Dunsworth Ellsworth Fairbanks Greenwood Hathaway Kingsley Lockhart Merriweather Northcott Pemberton Ravenscroft Stapleton Thornbury Whitaker Winterbourne`)
	// nicknamePairs are what people are called, beside the table that is tested: not all of them are in it.
	nicknamePairs = strings.Fields(`Robert/Bob William/Bill Elizabeth/Liz Margaret/Peggy Katherine/Kate James/Jim Richard/Dick Thomas/Tom Michael/Mike Jennifer/Jenny Christopher/Chris Samantha/Sam
		Alexander/Alex Joseph/Joe Edward/Ted Anthony/Tony Rebecca/Becky Johannes/Hannes Katharina/Kathi Friedrich/Fritz Josef/Sepp Ursula/Uschi Maximilian/Max Sebastian/Basti Ulrich/Uli
		Wolfgang/Wolf Susanne/Susi Gabriele/Gabi Elisabeth/Lisa Theresia/Resi Guillaume/Guy Frédéric/Fred Stéphane/Steph Nicolas/Nico Catherine/Cathy Francisco/Paco José/Pepe Ignacio/Nacho
		Dolores/Lola Concepción/Concha Guadalupe/Lupe Enrique/Quique Rosario/Charo Mercedes/Merche Manuel/Manolo Nathaniel/Nate Zebulon/Zeb Hieronymus/Ronny Walburga/Wally`)
	titleWords = strings.Fields(`Dr. Prof. Herr Frau Mr. Ms. Mme`)
)

func (g *judged) person() person {
	p := person{first: g.one(firstNames...), last: g.one(lastNames...), account: fmt.Sprintf("Company %d", g.n)}
	p.email = strings.ToLower(fmt.Sprintf("%c.%s@c%d.example", plain(p.first)[0], plain(p.last), g.n))
	p.phone = fmt.Sprintf("+49 %d %07d", 30+g.IntN(60), 1000000+g.n*37+g.IntN(30))
	p.linkedIn = fmt.Sprintf("https://www.linkedin.com/in/%s-%s-%d", strings.ToLower(plain(p.first)), strings.ToLower(plain(p.last)), g.n)
	return p
}

var plainLetters = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ß", "ss", "á", "a", "Á", "A", "é", "e", "è", "e", "í", "i", "î", "i", "ó", "o", "ñ", "n", "ú", "u", "ë", "e")

func plain(name string) string { return plainLetters.Replace(name) }

// without leaves out values, as the systems do that records come from.
func (p person) without(fields string) person {
	for _, f := range strings.Fields(fields) {
		switch f {
		case "account":
			p.account = ""
		case "first":
			p.first = ""
		case "name":
			p.first, p.last = "", ""
		case "email":
			p.email = ""
		case "phone":
			p.phone = ""
		case "linkedIn":
			p.linkedIn = ""
		}
	}
	return p
}

func (g *judged) typo(word string) string {
	r := []rune(word)
	i := 1 + g.IntN(len(r)-2)
	switch g.IntN(3) {
	case 0:
		return string(r[:i]) + string(r[i+1:])
	case 1:
		r[i] = rune("aeionrst"[g.IntN(8)])
		return string(r)
	}
	r[i], r[i-1] = r[i-1], r[i]
	if i == 1 {
		r[0], r[1] = r[1], r[0]
		r[1], r[2] = r[2], r[1]
	}
	return string(r)
}

// other returns a name of the list that begins with another letter.
func (g *judged) other(name string, list []string) string {
	for {
		if n := g.one(list...); n[0] != name[0] {
			return n
		}
	}
}

// all generates the collection.
func (g *judged) all() {
	const nothing = "email phone linkedIn"
	for range 110 {
		p := g.person()
		q := p
		q.email = strings.ToUpper(p.email[:1]) + p.email[1:]
		g.pair(true, "same address", p.without("phone"), q.without(g.one("account", "name", "linkedIn", "first")))
	}
	for range 120 {
		p := g.person()
		q := p
		q.first, q.last = plain(p.first), strings.ToUpper(plain(p.last))
		g.pair(true, "accents and case", p.without(g.one("email", "phone")), q.without(nothing))
	}
	for range 190 {
		p := g.person()
		names := strings.Split(g.one(nicknamePairs...), "/")
		q := p
		p.first, q.first = names[0], names[1]
		g.pair(true, "nickname", p.without(g.one("email", "phone linkedIn")), q.without(g.one(nothing, "email linkedIn", "account email linkedIn")))
	}
	for range 130 {
		p := g.person()
		q := p
		q.last = g.typo(p.last)
		g.pair(true, "typo", p.without(g.one("email", "linkedIn")), q.without(g.one(nothing, "email linkedIn")))
	}
	for range 110 {
		p := g.person()
		q := p
		q.first = string([]rune(p.first)[:1]) + g.one("", ".")
		g.pair(true, "initial", p.without("linkedIn"), q.without(g.one(nothing, "email linkedIn")))
	}
	for range 70 {
		p := g.person()
		q := p
		q.first, q.last = p.last, p.first
		g.pair(true, "swapped", p, q.without(g.one(nothing, "email linkedIn")))
	}
	for range 70 {
		p := g.person()
		q := p
		q.last = g.one(p.last+"-"+g.one(lastNames...), g.one(lastNames...)+" "+p.last)
		if g.IntN(2) == 0 {
			q.last, q.first = p.last, p.first+g.one("-", " ")+g.one(firstNames...)
		}
		g.pair(true, "double name", p.without("linkedIn"), q.without(nothing))
	}
	for range 60 {
		p := g.person()
		q := p
		q.last, q.email = g.other(p.last, lastNames), ""
		g.pair(true, "married", p, q.without(g.one("phone", "linkedIn", "account phone")))
	}
	for range 60 {
		p := g.person()
		q := p
		q.first = g.one(titleWords...) + " " + p.first
		g.pair(true, "title", p, q.without(nothing))
	}
	for range 110 {
		p := g.person()
		q := p
		q.phone = strings.Replace(strings.ReplaceAll(p.phone, " ", g.one("", "-", "/")), "+49", g.one("0049", "0", "+49 (0)"), 1)
		g.pair(true, "phone", p.without("account"), q.without("account email linkedIn"))
	}
	for range 50 { // which nothing but the person's memory can tell
		p := g.person()
		q := p
		q.account, q.email = p.account+" B", "new."+p.email
		g.pair(true, "changed the company", p, q.without("phone linkedIn"))
	}
	for range 220 {
		p := g.person()
		q := p
		q.first, q.email = g.other(p.first, firstNames), "x"+p.email
		g.pair(false, "same last name in a company", p, q.without("phone linkedIn"))
	}
	for range 220 {
		p := g.person()
		q := p
		q.last, q.email = g.other(p.last, lastNames), "x"+p.email
		g.pair(false, "same first name in a company", p, q.without("phone linkedIn"))
	}
	for range 180 {
		p := g.person()
		q := p
		q.account, q.email = p.account+" B", "x"+p.email
		g.pair(false, "namesakes", p, q.without("phone linkedIn"))
	}
	for range 100 {
		p, q := g.person(), g.person()
		p.email = fmt.Sprintf("%s@c%d.example", g.one("info", "office", "sales", "kontakt", "ventas", "contact", "empfang", "accueil"), g.n)
		q.account, q.email, q.first, q.last = p.account, p.email, g.other(p.first, firstNames), g.other(p.last, lastNames)
		g.pair(false, "role address", p, q)
	}
	for range 120 {
		p, q := g.person(), g.person()
		q.account, q.phone, q.first, q.last = p.account, p.phone, g.other(p.first, firstNames), g.other(p.last, lastNames)
		g.pair(false, "switchboard", p, q)
	}
	for range 90 {
		p := g.person()
		q := p
		q.email, q.linkedIn = "x"+p.email, p.linkedIn+"9"
		g.pair(false, "namesakes in a company", p, q.without("phone"))
	}
	for range 60 {
		names := strings.Split(g.one("Daniel/Daniela", "Mario/Maria", "Julian/Juliana", "Andrea/Andreas", "Martin/Martina", "Paulo/Paula", "Gabriel/Gabriele", "Simon/Simone", "Michel/Michele", "Claudio/Claudia"), "/")
		p := g.person()
		q := p
		p.first, q.first = names[0], names[1]
		g.pair(false, "the other gender", p.without("email"), q.without(nothing))
	}
	for range 60 {
		names := strings.Split(g.one("Meier/Meyer", "Schmidt/Schmitt", "Hansen/Hanson", "Petersen/Peterson", "Andersen/Anderson", "Bergman/Bergmann", "Stephens/Stevens", "Fischer/Fisher"), "/")
		p := g.person()
		q := p
		p.last, q.last = names[0], names[1]
		p.email, q.email = strings.ToLower(p.first[:1]+"."+p.last)+p.email[strings.Index(p.email, "@"):], strings.ToLower(q.first[:1]+"."+q.last)+p.email[strings.Index(p.email, "@"):]
		g.pair(false, "similar last names", p.without("phone linkedIn"), q.without("phone linkedIn"))
	}
	for range 10 {
		p := g.person()
		q := p
		q.first = g.other(p.first, firstNames)
		g.pair(false, "family address", p.without("phone linkedIn"), q.without("phone linkedIn"))
	}
}

// TestGenerateJudged writes the collection with -generate, and fails if the generator makes another one than the file has.
func TestGenerateJudged(t *testing.T) {
	g := judged{Rand: rand.New(rand.NewPCG(34, 8))}
	g.all()
	if *generate {
		if err := os.WriteFile(judgedFile, []byte(g.out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if stored, err := os.ReadFile(judgedFile); err != nil || string(stored) != g.out.String() {
		t.Errorf("the generator makes another collection than %s (%v)", judgedFile, err)
	}
}
