package rows

import "strings"

// booleans are the words for yes and no, in lower case.
var booleans = map[string]bool{
	"true": true, "yes": true, "y": true, "1": true, "on": true, "x": true, "✓": true, "✔": true,
	"ja": true, "j": true, "wahr": true, "oui": true, "o": true, "vrai": true, "sí": true, "si": true, "s": true, "verdadero": true,
	"false": false, "no": false, "n": false, "0": false, "off": false,
	"nein": false, "falsch": false, "non": false, "faux": false, "falso": false,
}

// ParseBool returns the meaning of a word for yes or no in English, German, French or Spanish.
func ParseBool(text string) (value, ok bool) {
	value, ok = booleans[strings.ToLower(strings.TrimSpace(text))]
	return value, ok
}

// noValues are the words that people write where they have no value, folded without spaces and final
// dots. Those that are true may also be somebody's name.
var noValues = map[string]bool{
	"-": false, "--": false, "---": false, "–": false, "—": false, "?": false, "??": false, ".": false, "/": false, "n/a": false, "#n/a": false, "#n/v": false, "#nv": false,
	"#name?": false, "#ref!": false, "#value!": false, "#wert!": false, "#bezug!": false, "k.a": false, "k/a": false, "(blank)": false, "(empty)": false, "(leer)": false, "(none)": false,
	"(null)": false, "<null>": false, "unknown": false, "unbekannt": false, "inconnu": false, "inconnue": false, "desconocido": false, "desconocida": false, "keineangabe": false,
	"keineangaben": false, "nichtbekannt": false, "nonrenseigné": false, "nondisponible": false, "nodisponible": false, "sindatos": false, "notavailable": false, "notapplicable": false,
	"n.n": false, "n.v": false, "n.a": false, "n.c": false, "n.d": false, "s/d": false, "tbd": false, "undefined": false, "nan": true, "null": true, "nil": true, "none": true, "na": true, "ka": true,
	"keine": true, "aucun": true, "ninguno": true,
}

// programNulls are what programs write where they have no value, exactly. Null and Nan are names, and NULL is none.
var programNulls = map[string]bool{
	"NULL": true, "null": true, "nan": true, "NaN": true, "None": true, "undefined": true, `\N`: true, "#N/A": true, "#N/A N/A": true,
	"#DIV/0!": true, "#NAME?": true, "#NULL!": true, "#NUM!": true, "#REF!": true, "#VALUE!": true, "#SPILL!": true, "#CALC!": true,
	"#FIELD!": true, "#BLOCKED!": true, "#CONNECT!": true, "#UNKNOWN!": true, "#GETTING_DATA": true, "#BUSY!": true, "#ERROR!": true,
}

// isNoValue reports whether a text stands for no value. In names only those that nobody has do.
func isNoValue(text string, isName bool) bool {
	if len(text) > 20 {
		return false
	}
	if programNulls[text] {
		return true
	}
	folded := strings.ToLower(strings.ReplaceAll(text, " ", ""))
	mayBeName, is := noValues[folded]
	if !is && len(folded) > 1 {
		mayBeName, is = noValues[strings.TrimSuffix(folded, ".")]
	}
	return is && !(isName && mayBeName)
}
