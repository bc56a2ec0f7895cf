package catalog

// The vocabulary of a made-up market. Everything is invented, and every domain ends in the reserved
// .example.

// industry describes what the companies of an industry make, and for which customers.
type industry struct {
	name                                 string
	parts, products, customers, keywords []string
}

var companyIndustries = []industry{
	{"Software", []string{"Developer Tools", "Business Applications", "Analytics", "Security Software",
		"Collaboration"},
		[]string{"a platform for test automation", "accounting software", "a tool that finds anomalies in logs",
			"scheduling software", "an identity service"},
		[]string{"for small teams", "for large enterprises", "for developers", "for public authorities"},
		[]string{"SaaS", "cloud", "API", "automation", "machine learning"}},
	{"Manufacturing", []string{"Machine Tools", "Packaging", "Electronics", "Plastics", "Metal Parts"},
		[]string{"milling machines", "packaging lines", "circuit boards", "injection moulded parts",
			"industrial pumps"},
		[]string{"for car makers", "for food producers", "for machine builders", "for ship yards"},
		[]string{"OEM", "precision", "automation", "industry 4.0", "made to order"}},
	{"Retail", []string{"Fashion", "Groceries", "Home and Garden", "Electronics Stores", "Online Shops"},
		[]string{"sustainable clothing", "organic food", "garden furniture", "refurbished phones", "children's toys"},
		[]string{"for families", "for bargain hunters", "for people in cities", "for hobby gardeners"},
		[]string{"e-commerce", "stores", "loyalty", "marketplace", "omnichannel"}},
	{"Healthcare", []string{"Medical Devices", "Hospitals", "Telemedicine", "Diagnostics", "Pharmacies"},
		[]string{"insulin pumps", "a platform for video consultations", "laboratory tests", "hearing aids",
			"hospital beds"},
		[]string{"for clinics", "for patients at home", "for general practitioners", "for laboratories"},
		[]string{"patients", "clinical", "regulated", "telehealth", "diagnostics"}},
	{"Financial Services", []string{"Banking", "Insurance", "Payments", "Asset Management", "Leasing"},
		[]string{"business accounts", "liability insurance", "a payment gateway", "index funds", "equipment leasing"},
		[]string{"for freelancers", "for merchants", "for pension funds", "for craft businesses"},
		[]string{"payments", "compliance", "fintech", "risk", "lending"}},
	{"Logistics", []string{"Freight", "Warehousing", "Parcel Services", "Cold Chain", "Fleet Services"},
		[]string{"freight forwarding", "warehouse space", "same-day delivery",
			"temperature-controlled transport", "fleet tracking"},
		[]string{"for online shops", "for pharmaceutical companies", "for manufacturers", "for restaurants"},
		[]string{"supply chain", "freight", "last mile", "warehouse", "tracking"}},
	{"Energy", []string{"Solar", "Wind", "Grid Services", "Storage", "Energy Consulting"},
		[]string{"rooftop solar systems", "wind turbine maintenance", "battery storage", "smart meters",
			"energy audits"},
		[]string{"for home owners", "for municipal utilities", "for factories", "for farms"},
		[]string{"renewable", "solar", "storage", "grid", "sustainability"}},
	{"Education", []string{"Online Courses", "Language Schools", "Corporate Training", "Learning Software",
		"Universities"},
		[]string{"language courses", "compliance training", "a learning platform", "coding courses",
			"exam preparation"},
		[]string{"for companies", "for schools", "for students", "for career changers"},
		[]string{"e-learning", "training", "certificates", "edtech", "courses"}},
	{"Construction", []string{"Building", "Civil Engineering", "Architecture", "Building Materials",
		"Facility Management"},
		[]string{"prefabricated houses", "road works", "timber frames", "insulation", "facility management"},
		[]string{"for municipalities", "for property developers", "for private clients", "for hotels"},
		[]string{"building", "timber", "infrastructure", "renovation", "planning"}},
	{"Professional Services", []string{"Consulting", "Legal Services", "Recruiting", "Marketing Agencies",
		"Tax Advice"},
		[]string{"strategy consulting", "contract reviews", "executive search", "brand campaigns", "tax advice"},
		[]string{"for family businesses", "for start-ups", "for listed companies", "for non-profits"},
		[]string{"consulting", "advisory", "recruiting", "branding", "strategy"}},
	{"Food and Beverage", []string{"Bakery", "Beverages", "Dairy", "Plant-Based Food", "Catering"},
		[]string{"sourdough bread", "craft lemonade", "oat milk", "frozen meals", "office catering"},
		[]string{"for supermarkets", "for cafés", "for canteens", "for airlines"},
		[]string{"organic", "vegan", "wholesale", "regional", "catering"}},
	{"Travel", []string{"Hotels", "Tour Operators", "Business Travel", "Booking Platforms", "Car Rental"},
		[]string{"hiking tours", "a booking platform for meeting rooms", "boutique hotels", "van rental",
			"group travel"},
		[]string{"for companies", "for families", "for adventurers", "for event planners"},
		[]string{"tourism", "booking", "hospitality", "events", "mobility"}},
}

// companyFacts are what a company may be; of each line at most one is true.
var companyFacts = [][]string{
	{"It ships worldwide.", "It delivers within {country} only.", "It ships to all of Europe.",
		"It serves customers in its region."},
	{"It sells to businesses (B2B).", "It sells to consumers (B2C).",
		"It sells to businesses and consumers alike (B2B and B2C)."},
	{"It is hiring engineers.", "It is hiring in sales.", "It is not hiring at the moment.",
		"It has many open positions."},
	{"It is certified to ISO 27001.", "It is certified to ISO 9001.", "It holds no certifications.",
		"It is SOC 2 compliant."},
	{"It is owned by its founders.", "It is part of a larger group.", "It raised a round of funding last year.",
		"It is a listed company."},
	{"It offers a free trial.", "Prices are on request.", "It sells by subscription.", "It works through resellers."},
}

var technologies = []string{
	"AWS", "Azure", "Google Cloud", "Kubernetes", "Docker", "Salesforce", "HubSpot", "SAP", "Oracle",
	"PostgreSQL", "MySQL", "MongoDB", "Snowflake",
	"Tableau", "Power BI", "Shopify", "WordPress", "Magento", "Stripe", "Zendesk", "Jira", "Slack",
	"Microsoft 365", "Google Analytics", "React", "Java", "Python", "Go",
}

var businessKeywords = []string{"B2B", "B2C", "family-owned", "start-up", "international", "remote",
	"non-profit", "export"}

var companyFirst = []string{
	"Northwind", "Bluefin", "Copper", "Granite", "Harbor", "Juniper", "Lumen", "Maple", "Nimbus", "Orchard",
	"Pioneer", "Quartz", "Riverside", "Summit", "Tidal",
	"Umber", "Vantage", "Willow", "Xenon", "Yarrow", "Zephyr", "Alder", "Beacon", "Cedar", "Delta", "Ember",
	"Falcon", "Garnet", "Hazel", "Indigo", "Jasper",
	"Kestrel", "Linden", "Meridian", "Nova", "Opal", "Prairie", "Raven", "Sable", "Thistle", "Velvet", "Walnut",
	"Amber", "Birch", "Cobalt", "Dune", "Echo",
	"Fjord", "Glacier", "Heron", "Iris", "Kite", "Lantern", "Mosaic", "Nectar", "Onyx", "Pebble", "Rowan",
	"Saffron", "Topaz", "Vesper", "Aurora", "Basalt",
	"Clover", "Drift", "Evergreen", "Flint", "Grove", "Horizon", "Ivory", "Keystone", "Lark", "Marble", "Nordic",
	"Oasis", "Polar", "Redwood", "Slate", "Timber", "Zenith",
}

var companySecond = []string{
	"Analytics", "Logistics", "Robotics", "Foods", "Energy", "Health", "Systems", "Partners", "Labs", "Works",
	"Materials", "Textiles", "Motors", "Media", "Capital",
	"Learning", "Travel", "Design", "Software", "Instruments", "Packaging", "Trading", "Security", "Consulting",
	"Networks", "Optics", "Pharma", "Studios", "Supply", "Tools",
	"Ventures", "Water", "Wireless", "Aviation", "Biotech", "Ceramics", "Dynamics", "Electronics", "Farms",
	"Glass", "Homes", "Insurance", "Machines", "Outdoor", "Print",
	"Recycling", "Semiconductors", "Shipping", "Solar", "Sports",
}

var companyThird = []string{
	"North", "South", "East", "West", "Nordic", "Iberia", "Alpine", "Pacific", "Atlantic", "Baltic", "Central",
	"Coastal", "Global", "One", "Plus", "Prime", "Direct",
	"Digital", "Union", "Alliance", "Works", "House", "Point", "Bridge", "Gate", "Field", "Park", "Hill", "Lake",
	"Valley",
}

type town struct{ country, city string }

var companyTowns = []town{
	{"Germany", "Berlin"}, {"Germany", "Munich"}, {"Germany", "Hamburg"}, {"Austria", "Vienna"}, {"Switzerland",
		"Zurich"}, {"France", "Lyon"}, {"France", "Paris"},
	{"Spain", "Madrid"}, {"Italy", "Milan"}, {"Netherlands", "Utrecht"}, {"Belgium", "Ghent"}, {"Denmark",
		"Aarhus"}, {"Sweden", "Malmö"}, {"Norway", "Bergen"},
	{"Finland", "Tampere"}, {"Poland", "Kraków"}, {"Czechia", "Brno"}, {"Ireland", "Cork"}, {"United Kingdom",
		"London"}, {"United Kingdom", "Leeds"},
	{"United States", "Boston"}, {"United States", "Austin"}, {"United States", "Denver"}, {"United States",
		"Seattle"}, {"Canada", "Toronto"}, {"Canada", "Montréal"},
	{"Mexico", "Monterrey"}, {"Brazil", "Curitiba"}, {"India", "Pune"}, {"Japan", "Osaka"}, {"Singapore",
		"Singapore"}, {"Australia", "Perth"}, {"New Zealand", "Wellington"},
	{"South Africa", "Cape Town"}, {"Kenya", "Nairobi"},
}

// department is where somebody works.
type department struct {
	name, area, chief string
	roles             []string
}

var departments = []department{
	{"Sales", "Sales", "Chief Revenue Officer", []string{"Account Executive", "Sales Representative",
		"Sales Engineer", "Inside Sales Specialist"}},
	{"Marketing", "Marketing", "Chief Marketing Officer", []string{"Content Writer", "Campaign Specialist",
		"Brand Designer", "SEO Analyst"}},
	{"Engineering", "Engineering", "Chief Technology Officer", []string{"Software Engineer", "Test Engineer",
		"Data Engineer", "DevOps Engineer"}},
	{"Product", "Product", "Chief Product Officer", []string{"Product Designer", "Product Analyst",
		"Business Analyst", "UX Researcher"}},
	{"Finance", "Finance", "Chief Financial Officer", []string{"Accountant", "Financial Analyst", "Controller",
		"Payroll Clerk"}},
	{"Human Resources", "People", "Chief Human Resources Officer", []string{"Recruiter", "HR Generalist",
		"Talent Partner", "Trainer"}},
	{"Operations", "Operations", "Chief Operating Officer", []string{"Operations Analyst", "Dispatcher",
		"Process Engineer", "Quality Inspector"}},
	{"Information Technology", "IT", "Chief Information Officer", []string{"System Administrator",
		"Network Engineer", "Support Technician", "Security Analyst"}},
	{"Customer Success", "Customer Success", "Chief Customer Officer", []string{"Customer Success Specialist",
		"Support Agent", "Onboarding Specialist", "Consultant"}},
	{"Procurement", "Procurement", "Chief Procurement Officer", []string{"Buyer", "Sourcing Specialist",
		"Category Analyst", "Contract Specialist"}},
	{"Legal", "Legal", "Chief Legal Officer", []string{"Legal Counsel", "Paralegal", "Compliance Specialist",
		"Privacy Specialist"}},
}

// leaders are the titles of who leads a company.
var leaders = []string{"CEO", "Chief Executive Officer", "Founder", "Co-Founder & CEO", "Founder and CTO",
	"Owner", "Managing Director", "President"}

var firstNames = []string{
	"Ada", "Ben", "Clara", "David", "Elena", "Felix", "Grace", "Henry", "Ines", "Jonas", "Karin", "Leo", "Maya",
	"Noah", "Olga", "Paul", "Rosa", "Samir", "Tara", "Uwe",
	"Vera", "Walter", "Yara", "Zoe", "Amir", "Bianca", "Carlos", "Dana", "Erik", "Fatima", "Georg", "Hanna",
	"Ivan", "Julia", "Kofi", "Laura", "Marco", "Nadia", "Oscar", "Petra",
	"Rafael", "Sofia", "Tomas", "Ursula", "Victor", "Wanda", "Yusuf", "Anna", "Boris", "Chloe", "Diego", "Emma",
	"Frank", "Greta", "Hugo", "Irene", "Jan", "Kira", "Lukas", "Mira",
}

var lastNames = []string{
	"Abbott", "Berg", "Castro", "Dahl", "Engel", "Fischer", "Garcia", "Hansen", "Ito", "Jensen", "Kaya", "Lindt",
	"Moreau", "Novak", "Okafor", "Petrov", "Quinn", "Rossi",
	"Schmidt", "Tanaka", "Ueda", "Vogel", "Weber", "Xu", "Young", "Zeman", "Almeida", "Brandt", "Costa",
	"Dvorak", "Eriksen", "Ferrari", "Gruber", "Horvat", "Ivanov", "Jung",
	"Kowalski", "Larsen", "Meyer", "Nguyen", "Olsen", "Pereira", "Ricci", "Silva", "Toth", "Urban", "Varga",
	"Wagner", "Yilmaz", "Ziegler", "Adeyemi", "Bauer", "Cohen", "Dubois",
	"Evans", "Fontaine", "Gupta", "Hughes", "Iyer", "Joshi", "Keller", "Lopez", "Marino", "Nilsson", "Ortega",
	"Patel", "Reyes", "Santos", "Turner", "Vidal", "Wong", "Zhang",
}
