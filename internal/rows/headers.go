package rows

import "maps"

// This file is the table of the names that columns have in the tables of other programs. To have a column
// recognized, add its name to the list of its field. Names are compared without case, accents, spaces and
// punctuation. If several columns of a table have names of one field, the one that is listed first sets it,
// unless it is empty.
//
// The lists begin with English, German, French and Spanish names, as people write them in spreadsheets, and
// continue with those of HubSpot, Salesforce (labels and API names), Pipedrive, Apollo, and LinkedIn and the
// tools that save the lists of its Sales Navigator.

// headersOf returns the names of columns by field of an entity.
func headersOf(entity string) map[string][]string {
	switch entity {
	case "contacts":
		return joined(personHeaders, contactHeaders)
	case "people":
		return joined(personHeaders, catalogPersonHeaders)
	case "accounts":
		return joined(companyHeaders, accountHeaders)
	case "companies":
		return companyHeaders
	case "suppressions":
		return suppressionHeaders
	}
	return nil
}

func joined(a, b map[string][]string) map[string][]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// halfNames are the names of columns that contain full names only if no other column has first or last
// names, folded.
var halfNames = map[string]bool{"name": true, "nom": true, "nombre": true, "namen": true}

// personHeaders are the names of columns of tables of people.
var personHeaders = map[string][]string{
	"first_name": {
		"First name", "Given name", "Forename", "Vorname", "Rufname", "Prénom", "Prénoms", "Nombre de pila", "Primer nombre", "Nombres",
		"FirstName", "Person - First name", "Contact First Name", "Lead First Name",
	},
	"last_name": {
		"Last name", "Surname", "Family name", "Nachname", "Familienname", "Zuname", "Nom de famille", "Apellido", "Apellidos", "Primer apellido",
		"LastName", "Person - Last name", "Contact Last Name", "Lead Last Name",
	},
	"full_name": {
		"Full name", "Vollständiger Name", "Vor- und Nachname", "Ansprechpartner", "Ansprechperson", "Kontakt", "Kontaktperson", "Kontaktname", "Nom complet", "Nom et prénom", "Prénom et nom", "Contact principal",
		"Nombre completo", "Nombre y apellidos", "Nombre y apellido", "Contacto", "Persona de contacto", "Name", "Nom", "Nombre", "Contact name", "Contact", "Person", "Lead Name", "Person - Name",
		"Contact Full Name", "Lead Full Name", "Person Name",
	},
	"email": {
		"Email", "E-Mail", "Email address", "E-Mail-Adresse", "Mail", "Mailadresse", "Mail-Adresse", "E-Mail geschäftlich", "E-Mail (geschäftlich)", "E-Mail 1", "Emailadresse", "Geschäftliche E-Mail",
		"Courriel", "Adresse e-mail", "Adresse email", "Adresse électronique", "Adresse mail", "E-mail professionnel", "Email pro", "Mél",
		"Correo", "Correo electrónico", "Correo electronico", "Dirección de correo", "Dirección de correo electrónico", "Email de contacto",
		"Work email", "Business email", "Primary email", "Company email", "Corporate email", "Professional email", "Email 1", "E-mail 1 - Value", "Contact Email", "Lead Email",
		"Person - Email - Work", "Person - Email", "Person - Email - Other", "Person - Email - Home", "PersonEmail", "Verified email", "Email Address (work)", "Personal email", "Private E-Mail", "E-Mail privat",
	},
	"title": {
		"Job title", "Position", "Title", "Role", "Job", "Job role", "Berufsbezeichnung", "Jobtitel", "Stellenbezeichnung", "Funktion", "Rolle", "Beruf",
		"Fonction", "Poste", "Intitulé du poste", "Titre du poste", "Titre", "Métier", "Cargo", "Puesto", "Puesto de trabajo", "Función",
		"Person - Job title", "Current title", "Current position", "Current Job", "Headline", "Contact Title", "Occupation", "linkedinJobTitle", "Designation",
	},
	"phone_number": {
		"Phone number", "Phone", "Telephone", "Telefon", "Telefonnummer", "Telefon geschäftlich", "Telefon (geschäftlich)", "Tel", "Tel.", "Tel.-Nr.", "Rufnummer", "Durchwahl", "Festnetz",
		"Téléphone", "Numéro de téléphone", "Tél", "Tél.", "Téléphone fixe", "Teléfono", "Número de teléfono", "Telefono",
		"Work phone", "Business phone", "Direct phone", "Work Direct Phone", "Direct dial", "Person - Phone - Work", "Person - Phone", "Contact Phone",
		"Mobile phone", "Mobile phone number", "Mobile", "Mobil", "Mobiltelefon", "Mobilnummer", "Handy", "Handynummer", "Portable", "Téléphone portable", "Mobile pro", "Móvil", "Teléfono móvil", "Celular",
		"MobilePhone", "Cell", "Cell phone", "Person - Phone - Mobile", "Corporate Phone", "Other Phone", "Home Phone",
	},
	"linkedin_url": {
		"LinkedIn URL", "LinkedIn", "LinkedIn profile", "LinkedIn profile URL", "LinkedIn-Profil", "LinkedIn-URL", "Profil LinkedIn", "Perfil de LinkedIn", "URL de LinkedIn", "Person Linkedin Url", "Contact LinkedIn Url",
		"Person LinkedIn", "LinkedIn Bio", "LinkedIn Contact Profile URL", "hs_linkedin_url", "linkedInProfileUrl", "profileUrl", "Profile URL", "defaultProfileUrl", "Linkedin URL Public", "LinkedIn_URL__c", "Public profile URL", "Person - LinkedIn", "URL",
	},
	"location": {
		"Location", "City", "Ort", "Stadt", "Wohnort", "Standort", "Ville", "Lieu", "Localisation", "Ciudad", "Localidad", "Ubicación", "Población",
		"Mailing City", "MailingCity", "Person - City", "Contact City", "Lead location", "Geography", "Region",
	},
}

// contactHeaders are the names of further columns of tables of contacts, among them those of the account.
var contactHeaders = map[string][]string{
	"notes": {
		"Notes", "Note", "Comment", "Comments", "Notiz", "Notizen", "Bemerkung", "Bemerkungen", "Kommentar", "Anmerkung", "Anmerkungen", "Remarque", "Remarques", "Commentaire", "Commentaires", "Nota", "Notas", "Observaciones", "Comentario", "Comentarios",
		"Person - Notes",
	},
	"do_not_contact": {
		"Do not contact", "Do not email", "Opt out", "Opted out", "Unsubscribed", "Email opt out", "HasOptedOutOfEmail", "Nicht kontaktieren", "Kontaktsperre", "Werbesperre", "Keine Werbung", "Abgemeldet", "Newsletter abgemeldet", "Keine E-Mails",
		"Ne pas contacter", "Désinscrit", "Désabonné", "Opposition", "No contactar", "Dado de baja", "Baja", "No enviar correo", "Unsubscribed from all email", "Opted out of email: Marketing Information",
	},
	"add_tags": {
		"Tag names", "Tags", "Tag", "Label", "Labels", "Schlagwort", "Schlagworte", "Schlagwörter", "Stichwörter", "Stichworte", "Kategorie", "Kategorien", "Étiquette", "Étiquettes", "Catégorie", "Mots-clés", "Etiqueta", "Etiquetas", "Categoría", "Categorías",
		"Lists", "Person - Label", "Person - Labels", "Contact tags", "Group Membership",
	},
	"external_id": {
		"External ID", "Contact ID", "Record ID", "Person - ID", "Apollo Contact Id", "Kontakt-ID", "Kontaktnummer", "Kundennummer", "Kunden-Nr.", "Kundennr", "Identifiant", "ID contact", "Référence client", "N° client", "ID de contacto", "Número de cliente",
		"vmid", "Lead ID", "ID", "Id.", "ContactId", "CRM ID",
	},
	"account_name": {
		"Account name", "Company name", "Company", "Account", "Organization", "Organisation", "Employer", "Firma", "Firmenname", "Unternehmen", "Unternehmensname", "Arbeitgeber", "Société", "Entreprise", "Raison sociale", "Nom de l'entreprise", "Nom de la société", "Employeur",
		"Empresa", "Compañía", "Nombre de la empresa", "Nombre de empresa", "Razón social", "Organización",
		"Associated Company", "Primary Associated Company", "Associated Company Names", "Person - Organization", "Organization name", "Current company", "Company Name for Emails", "companyName", "Account.Name", "linkedinCompanyName",
	},
	"account_website": {
		"Account website", "Company website", "Company domain", "Company domain name", "Website", "Website URL", "Webseite", "Homepage", "Internet", "Internetseite", "Firmenwebsite", "Web", "Site web", "Site internet", "Site", "Sitio web", "Página web",
		"Domain", "companyDomain", "Organization - Website", "Company URL",
	},
	"account_external_id": {"Account ID", "AccountId", "Organization ID", "Organization - ID", "Company ID", "Associated Company ID", "Associated Company IDs", "Primary Associated Company ID", "Apollo Account Id"},
	"account_industry": {
		"Industry", "Company industry", "Account industry", "Branche", "Industrie", "Secteur", "Secteur d'activité", "Sector", "Industria", "companyIndustry",
	},
	"account_employee_count": {
		"# Employees", "Number of employees", "Employees", "Company size", "Headcount", "Employee count", "Mitarbeiter", "Mitarbeiterzahl", "Mitarbeiteranzahl", "Anzahl Mitarbeiter", "Firmengröße", "Unternehmensgröße", "Effectif", "Effectifs", "Nombre d'employés", "Nombre de salariés", "Taille de l'entreprise",
		"Empleados", "Número de empleados", "Nº de empleados", "Tamaño de la empresa", "NumberOfEmployees", "companySize",
	},
	"account_annual_revenue": {
		"Annual revenue", "Revenue", "Company revenue", "Umsatz", "Jahresumsatz", "Chiffre d'affaires", "CA", "CA annuel", "Facturación", "Facturación anual", "Ingresos anuales", "Ingresos", "AnnualRevenue",
	},
	"account_country":      {"Company Country", "Account Country", "Country", "Country/Region", "Land", "Staat", "Pays", "País", "Mailing Country", "MailingCountry", "Billing Country"},
	"account_location":     {"Company City", "Account City", "Company location", "companyLocation", "Firmensitz"},
	"account_linkedin_url": {"Company Linkedin Url", "LinkedIn Company Page", "Company LinkedIn", "regularCompanyUrl", "companyUrl", "Company LinkedIn URL"},
	"account_phone_number": {"Company Phone", "Account Phone", "Main phone", "Zentrale"},
}

// catalogPersonHeaders are the names of further columns of tables of people of the catalog.
var catalogPersonHeaders = map[string][]string{
	"id":              {"Record ID", "Contact ID", "Person - ID", "Apollo Contact Id", "Person ID", "vmid"},
	"company_id":      {"Company ID", "Account ID", "AccountId", "Organization ID", "Apollo Account Id", "companyId"},
	"company_website": contactHeaders["account_website"],
	"seniority":       {"Seniority", "Seniority level", "Management level", "Hierarchieebene", "Karrierestufe", "Niveau hiérarchique", "Nivel jerárquico", "Antigüedad"},
	"department":      {"Department", "Departments", "Abteilung", "Bereich", "Service", "Département", "Departamento", "Área"},
	"country":         {"Country", "Country/Region", "Land", "Pays", "País", "Mailing Country"},
}

// companyHeaders are the names of columns of tables of companies.
var companyHeaders = map[string][]string{
	"id": {"Company ID", "Record ID", "Account ID", "Organization ID", "Organization - ID", "Apollo Account Id"},
	"name": {
		"Company name", "Company", "Account name", "Name", "Organization", "Organisation", "Organization name", "Firma", "Firmenname", "Unternehmen", "Unternehmensname", "Kunde", "Kundenname", "Société", "Entreprise", "Nom de l'entreprise", "Nom de la société", "Raison sociale", "Nom", "Client",
		"Empresa", "Compañía", "Nombre de la empresa", "Nombre de empresa", "Razón social", "Nombre", "Cliente", "Account", "Organization - Name", "Company Name for Emails", "companyName", "Business name", "Legal name",
	},
	"website": {
		"Website", "Company website", "Company domain name", "Website URL", "Domain", "Domain name", "Company domain", "Webseite", "Homepage", "Internet", "Internetseite", "Internetadresse", "Web", "Site web", "Site internet", "Site", "Sitio web", "Página web", "Dominio", "URL",
		"Organization - Website", "Account website", "companyDomain",
	},
	"industry":     {"Industry", "Company industry", "Branche", "Industrie", "Wirtschaftszweig", "Secteur", "Secteur d'activité", "Sector", "Industria", "Sector de actividad", "Organization - Industry", "Vertical"},
	"sub_industry": {"Sub-industry", "Subindustry", "Unterbranche", "Sous-secteur", "Subsector"},
	"employee_count": {
		"Employee count", "Number of employees", "# Employees", "Employees", "Company size", "Headcount", "Size", "Mitarbeiter", "Mitarbeiterzahl", "Mitarbeiteranzahl", "Anzahl Mitarbeiter", "Anzahl der Mitarbeiter", "Beschäftigte", "Unternehmensgröße", "Firmengröße",
		"Effectif", "Effectifs", "Nombre d'employés", "Nombre de salariés", "Salariés", "Taille de l'entreprise", "Empleados", "Número de empleados", "Nº de empleados", "Plantilla", "Tamaño de la empresa",
		"NumberOfEmployees", "Organization - Number of employees", "employeeCount",
	},
	"annual_revenue": {
		"Annual revenue", "Revenue", "Yearly revenue", "Turnover", "Umsatz", "Jahresumsatz", "Umsatz (EUR)", "Chiffre d'affaires", "Chiffre d'affaires annuel", "CA", "CA annuel", "Facturación", "Facturación anual", "Ingresos", "Ingresos anuales", "Ventas",
		"AnnualRevenue", "Organization - Annual revenue",
	},
	"founded_year": {"Founded year", "Year founded", "Founded", "Year started", "YearStarted", "Gründungsjahr", "Gegründet", "Année de création", "Année de fondation", "Année fondée", "Año de fundación", "Fundada en", "Fundación"},
	"description": {
		"Description", "About", "Summary", "About us", "Beschreibung", "Kurzbeschreibung", "Firmenbeschreibung", "Descriptif", "Descripción", "Short Description", "SEO Description", "companyDescription",
	},
	"keywords":     {"Keywords", "Schlüsselwörter", "Mots-clés", "Palabras clave"},
	"technologies": {"Technologies", "Technologien", "Tecnologías", "Tech stack"},
	"country":      {"Country", "Country/Region", "Land", "Staat", "Pays", "País", "Billing Country", "BillingCountry", "Company Country", "Organization - Country of Address", "Headquarters country"},
	"location": {
		"Location", "City", "Headquarters", "HQ", "Ort", "Stadt", "Sitz", "Firmensitz", "Standort", "Ville", "Siège", "Localisation", "Ciudad", "Localidad", "Sede", "Ubicación", "Población", "Billing City", "BillingCity", "Company City", "Organization - Address", "Company Address",
	},
	"linkedin_url": {"LinkedIn URL", "LinkedIn", "Company Linkedin Url", "LinkedIn Company Page", "LinkedIn-Profil", "LinkedIn-Seite", "Page LinkedIn", "Página de LinkedIn", "Organization - LinkedIn profile", "linkedInCompanyUrl", "companyUrl", "regularCompanyUrl", "Company LinkedIn"},
	"phone_number": {
		"Phone number", "Phone", "Telephone", "Telefon", "Telefonnummer", "Tel", "Tel.", "Rufnummer", "Zentrale", "Téléphone", "Numéro de téléphone", "Tél", "Tél.", "Teléfono", "Número de teléfono", "Company Phone", "Corporate Phone", "Main phone", "Organization - Phone",
	},
}

// accountHeaders are the names of further columns of tables of accounts.
var accountHeaders = map[string][]string{
	"id":          nil,
	"notes":       contactHeaders["notes"],
	"external_id": {"External ID", "Record ID", "Account ID", "AccountId", "Company ID", "Organization - ID", "Organization ID", "Apollo Account Id", "Kundennummer", "Kunden-Nr.", "Kundennr", "Debitorennummer", "Identifiant", "N° client", "Référence client", "Número de cliente", "Código de cliente", "ID", "CRM ID"},
	"add_tags": {
		"Tag names", "Tags", "Tag", "Label", "Labels", "Schlagwort", "Schlagworte", "Schlagwörter", "Stichwörter", "Kategorie", "Kategorien", "Étiquette", "Étiquettes", "Catégorie", "Etiqueta", "Etiquetas", "Categoría", "Categorías", "Lists", "Organization - Label", "Organization - Labels",
	},
}

// suppressionHeaders are the names of columns of tables of suppressions.
var suppressionHeaders = map[string][]string{
	"email":  personHeaders["email"],
	"domain": {"Domain", "Domain name", "Domäne", "Domaine", "Dominio", "Website", "Company domain", "Company domain name"},
	"reason": {"Reason", "Grund", "Begründung", "Motif", "Raison", "Motivo", "Razón", "Cause", "Status"},
}
