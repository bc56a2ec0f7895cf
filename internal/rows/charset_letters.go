package rows

// This file has the letters by which the encoding of a file is recognized, beside those of ASCII. To have
// another language recognized, add its letters to the encoding that its programs write.

// westernLetters are the letters of languages that are written in Windows-1252 and in MacRoman.
var westernLetters = []alphabet{
	{"äöüß", "é"},          // German
	{"éèàçêô", "âëîïûùœÿ"}, // French
	{"áéíóñ", "úü"},        // Spanish
	{"ãçáéíó", "âêôàúõ"},   // Portuguese
	{"èàòùé", "ìí"},        // Italian
	{"åäöé", "üø"},         // Swedish, Finnish
	{"æøåé", "öäü"},        // Danish, Norwegian
	{"áíóöðþé", "ýúæ"},     // Icelandic
	{"éëï", "öüèê"},        // Dutch
	{"àèéíòóúç", "ïü"},     // Catalan
}

// centralLetters are the letters of languages that are written in Windows-1250.
var centralLetters = []alphabet{
	{"ąęłóśż", "ćńź"},         // Polish
	{"áčéěířšž", "ďňóťúýů"},   // Czech
	{"áäčéíšžúľť", "ďňóôĺŕý"}, // Slovak
	{"áéíóöőúüű", ""},         // Hungarian
	{"ăâîşţșț", ""},           // Romanian
	{"čšžćđ", ""},             // Croatian, Slovenian
	{"äöüß", "é"},             // German
}

// turkishLetters are the letters of languages that are written in Windows-1254.
var turkishLetters = []alphabet{
	{"çğıöşüi\u0307", "âîû"}, // Turkish; lower case of İ
	{"äöüß", "é"},            // German
	{"éèàçêô", "âëîïûùœÿ"},   // French
}

// russian are the letters of languages that are written in Windows-1251.
var russian = alphabet{"абвгдежзийклмнопрстуфхцчшщъыьэюяё", "іїєґўѓќјљњћџђ"}
