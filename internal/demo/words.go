package demo

// The words that the records of the demo are made of.
var (
	companyFirst = []string{
		"Alder", "Birch", "Cedar", "Delta", "Ember", "Fjord", "Granite", "Harbor", "Iris", "Juniper", "Kestrel", "Larch",
		"Meridian", "Nimbus", "Orchard", "Pioneer", "Quartz", "Ridge", "Summit", "Tundra",
	}
	companySecond = []string{
		"Analytics", "Robotics", "Logistics", "Health", "Systems", "Foods", "Energy", "Labs", "Software", "Materials",
		"Media",
	}
	industries = []string{
		"Software", "Manufacturing", "Logistics", "Healthcare", "Food and beverage", "Energy", "Financial services",
		"Media",
	}
	products = []string{
		"inspection drones", "billing software", "cold-chain sensors", "clinical trial tools", "packaging lines",
		"grid batteries", "fraud detection", "subtitling tools", "warehouse robots",
	}
	firstNames = []string{
		"Anna", "Ben", "Chiara", "Deniz", "Elif", "Femi", "Grace", "Hugo", "Ines", "Jonas", "Keiko", "Liam", "Maya",
		"Noor", "Oskar", "Priya", "Quentin", "Rosa", "Samir", "Tessa", "Uma", "Viktor", "Wanda", "Xenia", "Yusuf", "Zoe",
	}
	lastNames = []string{
		"Adler", "Brandt", "Costa", "Dubois", "Eriksen", "Fischer", "Garcia", "Haddad", "Ivanova", "Jansen", "Kowalski",
		"Lindgren", "Moreau", "Nakamura", "Okafor", "Petrov", "Quinn", "Rossi", "Smith", "Tanaka", "Usman", "Vogel",
		"Weber", "Yilmaz", "Zhang",
	}
	titles = []string{
		"VP Sales", "Head of Marketing", "Chief Technology Officer", "Software Engineer", "VP Operations",
		"Procurement Manager", "Director of IT", "Founder", "Data Analyst", "VP Engineering", "Account Manager",
		"Chief Financial Officer", "Product Manager",
	}
	heats     = []string{"hot", "warm", "cold", ""}
	tiers     = []string{"gold", "silver", "bronze"}
	languages = []string{"English", "French", "German", "Japanese"}
)

// stage is a stage of a deal, with the task that was done to reach it and the next one, if any.
type stage struct{ name, done, next, nextType string }

var stages = []stage{
	{"prospecting", "Send an introduction to", "Call", "call"},
	{"qualification", "Send the questionnaire to", "Go through the answers with", "todo"},
	{"proposal", "Send the summary of the demo to", "Send the offer to", "email"},
	{"negotiation", "Send the offer to", "Agree on the terms with", "call"},
	{"won", "Send the signed contract to", "", ""},
	{"lost", "Say thank you to", "", ""},
}

type town struct{ city, country string }

var towns = []town{
	{"Berlin", "Germany"}, {"Lyon", "France"}, {"Austin", "United States"}, {"Toronto", "Canada"}, {"Malmö", "Sweden"},
	{"São Paulo", "Brazil"}, {"Leeds", "United Kingdom"}, {"Osaka", "Japan"},
}
