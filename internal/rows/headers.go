package rows

import (
	"maps"
	"slices"
)

// This file is the table of the names that columns have in the tables of other programs. To have a column
// recognized, add its name to the list of its field. Names are compared without case, accents, spaces and
// punctuation. If several columns of a table have names of one field, each row takes the value of the one that is listed
// first among those that it has a value in.
//
// The lists begin with English, German, French and Spanish names, as people write them in spreadsheets, and
// continue with those of HubSpot and Outlook in these languages, Salesforce (labels and API names), Pipedrive, Apollo,
// Google Contacts, ZoomInfo, Lusha, Cognism, Dealfront, Mailchimp, Brevo, Instantly, lemlist, and LinkedIn and the tools that
// save the lists of its Sales Navigator (PhantomBuster, Evaboot).

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

func joined[V any](a, b map[string]V) map[string]V {
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
		"linkedinFirstName", "Contact: First Name", "Person - First Name", "First", "Clean First Name",
	},
	"last_name": {
		"Last name", "Surname", "Family name", "Nachname", "Familienname", "Zuname", "Nom de famille", "Apellido", "Apellidos", "Primer apellido",
		"LastName", "Person - Last name", "Contact Last Name", "Lead Last Name",
		"linkedinLastName", "Last", "Apellido(s)", "Segundo apellido", "Clean Last Name",
	},
	"full_name": {
		"Full name", "Vollständiger Name", "Vor- und Nachname", "Ansprechpartner", "Ansprechperson", "Kontakt", "Kontaktperson", "Kontaktname", "Nom complet", "Nom et prénom", "Prénom et nom", "Contact principal",
		"Nombre completo", "Nombre y apellidos", "Nombre y apellido", "Contacto", "Persona de contacto", "Name", "Nom", "Nombre", "Contact name", "Contact", "Person", "Lead Name", "Person - Name",
		"Contact Full Name", "Lead Full Name", "Person Name",
		"linkedinFullName", "File As", "Display Name", "Anzeigename", "Nom affiché", "Nombre para mostrar", "Prospect Name", "Vorname Nachname",
	},
	"email": {
		"Email", "E-Mail", "Email address", "E-Mail-Adresse", "Mail", "Mailadresse", "Mail-Adresse", "E-Mail geschäftlich", "E-Mail (geschäftlich)", "E-Mail 1", "Emailadresse", "Geschäftliche E-Mail",
		"Courriel", "Adresse e-mail", "Adresse email", "Adresse électronique", "Adresse mail", "E-mail professionnel", "Email pro", "Mél",
		"Correo", "Correo electrónico", "Correo electronico", "Dirección de correo", "Dirección de correo electrónico", "Email de contacto",
		"Work email", "Business email", "Primary email", "Company email", "Corporate email", "Professional email", "Email 1", "E-mail 1 - Value", "Contact Email", "Lead Email",
		"Person - Email - Work", "Person - Email", "Person - Email - Other", "PersonEmail", "Verified email", "Email Address (work)",
		"E-mail Address", "E-Mail: Adresse", "Adresse de messagerie", "Dirección de correo electrónico profesional", "Correo de trabajo", "Correo electrónico de trabajo", "professionalEmail", "mailFromDropcontact", "Direct email", "Contact Email Address", "Email (work)", "E-Mail-Adresse geschäftlich", "Alternate Email", "Secondary Email", "Tertiary Email", "Additional email", "Additional email 1", "Additional email 2", "Email 2", "Email 3", "Other email", "Weitere E-Mail", "E-mail 2 - Value", "E-mail 3 - Value", "E-mail 4 - Value", "E-mail 2 Address", "E-mail 3 Address", "E-Mail 2", "E-Mail 3", "E-Mail 2: Adresse", "E-Mail 3: Adresse", "E-Mail-Adresse 2", "E-Mail-Adresse 3", "Adresse de messagerie 2", "Adresse de messagerie 3", "Dirección de correo electrónico 2", "Dirección de correo electrónico 3", "Dirección del correo electrónico 2", "Personal email", "Private email", "Private E-Mail", "E-Mail privat", "E-Mail (privat)", "Home email", "Email perso", "Email personnel", "E-mail personnel", "Correo personal",
		"Person - Email - Home",
	},
	"title": {
		"Job title", "Position", "Title", "Role", "Job", "Job role", "Berufsbezeichnung", "Jobtitel", "Stellenbezeichnung", "Funktion", "Rolle", "Beruf",
		"Fonction", "Poste", "Intitulé du poste", "Titre du poste", "Titre", "Métier", "Cargo", "Puesto", "Puesto de trabajo", "Función",
		"Person - Job title", "Current title", "Current position", "Current Job", "Headline", "Contact Title", "Occupation", "linkedinJobTitle", "Designation",
		"Organization Title", "Organization 1 - Title", "Job Title (English)", "linkedinHeadline", "Contact Job Title", "Jobbezeichnung", "Tätigkeit", "Stelle", "Intitulé de poste", "Profession", "Emploi", "Cargo / puesto", "Título profesional", "Título",
	},
	"phone_number": {
		"Phone number", "Phone", "Telephone", "Telefon", "Telefonnummer", "Telefon geschäftlich", "Telefon (geschäftlich)", "Tel", "Tel.", "Tel.-Nr.", "Rufnummer", "Durchwahl", "Festnetz", "Téléphone", "Numéro de téléphone", "Tél", "Tél.", "Téléphone fixe", "Teléfono", "Número de teléfono", "Telefono", "Work phone", "Business phone", "Direct phone", "Work Direct Phone", "Direct dial", "Person - Phone - Work", "Person - Phone", "Contact Phone", "Direct Phone Number", "Direct", "Direct number", "Phone 1", "Phone number 1", "Phone 1 - Value", "Primary Phone", "Office phone", "Téléphone (bureau)", "Téléphone bureau", "Téléphone professionnel", "Tél. bureau", "Teléfono del trabajo", "Teléfono de trabajo",
		"Mobile phone", "Mobile phone number", "Mobile", "Mobil", "Mobiltelefon", "Mobilnummer", "Handy", "Handynummer", "Portable", "Téléphone portable", "Mobile pro", "Móvil", "Teléfono móvil", "Celular", "MobilePhone", "Cell", "Cell phone", "Person - Phone - Mobile", "Mobiltelefonnummer", "Mobil geschäftlich", "Tél. mobile", "Numéro de téléphone mobile", "Numéro de mobile", "Téléphone mobile", "Número de teléfono móvil", "Número de móvil", "SMS", "WHATSAPP",
		"Business Phone 2", "Phone 2", "Phone 3", "Phone number 2", "Phone 2 - Value", "Phone 3 - Value", "Telefon geschäftlich 2", "Telefon 2", "Téléphone 2 (bureau)", "Teléfono del trabajo 2", "Other Phone", "Home Phone", "Home Phone 2", "Telefon privat", "Telefon (privat)", "Téléphone (domicile)", "Teléfono particular", "Person - Phone - Other", "Person - Phone - Home",
	},
	"linkedin_url": {
		"LinkedIn URL", "LinkedIn", "LinkedIn profile", "LinkedIn profile URL", "LinkedIn-Profil", "LinkedIn-URL", "Profil LinkedIn", "Perfil de LinkedIn", "URL de LinkedIn", "Person Linkedin Url", "Contact LinkedIn Url",
		"Person LinkedIn", "LinkedIn Bio", "LinkedIn Contact Profile URL", "hs_linkedin_url", "linkedInProfileUrl", "profileUrl", "Profile URL", "defaultProfileUrl", "Linkedin URL Public", "LinkedIn_URL__c", "Public profile URL", "Person - LinkedIn", "URL",
		"LinkedIn Contact URL", "LinkedIn Contact Profile", "Prospect LinkedIn URL", "linkedinProfileUrl", "linkedinProfile", "LinkedIn URL (person)", "Personal LinkedIn", "Profil LinkedIn URL", "LinkedIn-Profil-URL", "LinkedIn__c", "Sales Navigator URL",
	},
}

// personLocations and personCities are the names of columns with the place of a person. People of the catalog have no city of
// their own.
var (
	personLocations = []string{
		"Location", "Standort", "Lieu", "Localisation", "Ubicación", "Lead location", "Geography", "Region", "Contact Location", "linkedinProfileLocation", "Person Location",
	}
	personCities = []string{
		"City", "Ort", "Stadt", "Wohnort", "Ville", "Ciudad", "Localidad", "Población", "Mailing City", "MailingCity", "Person - City", "Contact City", "Person City",
		"Business City", "Ort geschäftlich", "Ville (bureau)", "Ciudad de trabajo", "Ciudad del trabajo", "Address 1 - City", "Home City", "Ort privat",
	}
	personCountries = []string{
		"Country", "Country/Region", "Land", "Staat", "Pays", "País", "Mailing Country", "MailingCountry", "Person Country", "Contact Country", "Person - Country", "Land/Region", "Pays/Région", "País/región", "País o región",
		"Business Country/Region", "Business Country", "Land/Region geschäftlich", "Pays/Région (bureau)", "País o región de trabajo", "País/región del trabajo", "Address 1 - Country", "Home Country",
	}
)

// contactHeaders are the names of further columns of tables of contacts, among them those of the account.
var contactHeaders = map[string][]string{
	"location": personLocations, "city": personCities, "country": personCountries,
	"notes": {
		"Notes", "Note", "Comment", "Comments", "Notiz", "Notizen", "Bemerkung", "Bemerkungen", "Kommentar", "Anmerkung", "Anmerkungen", "Remarque", "Remarques", "Commentaire", "Commentaires", "Nota", "Notas", "Observaciones", "Comentario", "Comentarios",
		"Person - Notes",
	},
	"do_not_contact": {
		"Do not contact", "Do not email", "Opt out", "Opted out", "Unsubscribed", "Email opt out", "HasOptedOutOfEmail", "Nicht kontaktieren", "Kontaktsperre", "Werbesperre", "Keine Werbung", "Abgemeldet", "Newsletter abgemeldet", "Keine E-Mails",
		"Ne pas contacter", "Désinscrit", "Désabonné", "Opposition", "No contactar", "Dado de baja", "Baja", "No enviar correo", "Unsubscribed from all email", "Opted out of email: Marketing Information",
		"UNSUB_TIME", "UNSUB_REASON", "Unsubscribe time", "Unsubscribed at", "unsubscribedAt", "Unsubscribe date", "Date unsubscribed", "Opt-out date", "Opted out at", "Has opted out of email", "Has opted out", "Email opt-out", "hs_email_optout",
		"isUnsubscribed", "Is unsubscribed", "Email unsubscribed", "Marketing opt-out", "Do not mail", "DNC", "Do not email (DNE)", "Email blacklisted", "EMAIL_BLACKLIST", "Blacklisted", "Unsubscribe", "Unsubscribes", "Optout", "Opt-Out (E-Mail)",
		"Abgemeldet am", "Abmeldedatum", "Abbestellt", "Abbestellt am", "Werbewiderspruch", "Widerspruch", "Widerspruch Werbung", "Werbung gesperrt", "E-Mail-Sperre", "Mailsperre", "Nicht anschreiben", "Von allen E-Mails abgemeldet",
		"Désinscription", "Date de désinscription", "Désinscrit le", "Désabonnement", "Désabonné de tous les e-mails", "Opposition e-mail", "Ne pas envoyer d'e-mail",
		"Fecha de baja", "Baja de correo", "No desea correos", "Canceló la suscripción", "Canceló la suscripción a todos los correos electrónicos", "Desuscrito",
	},
	"opt_out_status": {
		"Status", "Email status", "E-Mail-Status", "Email Marketing Status", "Marketing status", "Subscription status", "Subscriber status", "Member status", "MEMBER_STATUS", "lastState", "Lead status", "Contact status", "Person - Marketing status",
		"Abonnementstatus", "Abo-Status", "Marketing-Status", "Newsletter-Status", "Statut", "Statut d'abonnement", "Statut marketing", "Estado", "Estado de suscripción", "Estado de marketing",
	},
	"add_tags": {
		"Tag names", "Tags", "Tag", "Label", "Labels", "Schlagwort", "Schlagworte", "Schlagwörter", "Stichwörter", "Stichworte", "Kategorie", "Kategorien", "Étiquette", "Étiquettes", "Catégorie", "Mots-clés", "Etiqueta", "Etiquetas", "Categoría", "Categorías",
		"Lists", "Person - Label", "Person - Labels", "Contact tags", "Group Membership",
		"Categories", "Groups", "Gruppen", "Groupes", "Grupos", "Person - Label(s)",
	},
	"external_id": {
		"External ID", "Contact ID", "Record ID", "Person - ID", "Apollo Contact Id", "Kontakt-ID", "Kontaktnummer", "Kundennummer", "Kunden-Nr.", "Kundennr", "Identifiant", "ID contact", "Référence client", "N° client", "ID de contacto", "Número de cliente",
		"vmid", "Lead ID", "ID", "Id.", "ContactId", "CRM ID",
		"Datensatz-ID", "ID de registro", "ID d'enregistrement", "ID de l'objet", "ID d’enregistrement", "ZoomInfo Contact ID", "Person ID", "CONTACT ID",
	},
	"account_name": {
		"Account name", "Company name", "Company", "Account", "Organization", "Organisation", "Employer", "Firma", "Firmenname", "Unternehmen", "Unternehmensname", "Arbeitgeber", "Société", "Entreprise", "Raison sociale", "Nom de l'entreprise", "Nom de la société", "Employeur",
		"Empresa", "Compañía", "Nombre de la empresa", "Nombre de empresa", "Razón social", "Organización",
		"Associated Company", "Primary Associated Company", "Associated Company Names", "Person - Organization", "Organization name", "Current company", "Company Name for Emails", "companyName", "Account.Name", "linkedinCompanyName",
		"Organization 1 - Name", "Company / Account", "Company/Account", "Zugeordnetes Unternehmen", "Associated Company (Primary)", "Primary Associated Company Name", "Entreprise associée", "Empresa asociada", "Nom entreprise", "Name des Unternehmens", "Organization - Name", "Employer name", "Organisationsname", "Compte", "Cuenta",
	},
	"account_website": {
		"Account website", "Company website", "Company domain", "Company domain name", "Website", "Website URL", "Webseite", "Homepage", "Internet", "Internetseite", "Firmenwebsite", "Web", "Site web", "Site internet", "Site", "Sitio web", "Página web",
		"Domain", "companyDomain", "Organization - Website", "Company URL",
		"Company Website URL", "Web Page", "Page Web", "Página Web", "Website-URL", "URL du site web", "URL del sitio web", "Website 1 - Value", "Company Website Full", "Unternehmensdomain", "Domaine", "Dominio", "Email Domain",
	},
	"account_external_id": {
		"Account ID", "AccountId", "Organization ID", "Organization - ID", "Company ID", "Associated Company ID", "Associated Company IDs", "Primary Associated Company ID", "Apollo Account Id", "Zugeordnete Unternehmens-ID", "Associated Company IDs (Primary)", "ZoomInfo Company ID", "companyId", "Organization - Id",
	},
	"account_industry": {
		"Industry", "Company industry", "Account industry", "Branche", "Industrie", "Secteur", "Secteur d'activité", "Sector", "Industria", "companyIndustry",
		"Primary Industry", "Main industry", "Company main industry", "linkedinCompanyIndustry",
	},
	"account_employee_count": {
		"# Employees", "Number of employees", "Employees", "Company size", "Headcount", "Employee count", "Mitarbeiter", "Mitarbeiterzahl", "Mitarbeiteranzahl", "Anzahl Mitarbeiter", "Firmengröße", "Unternehmensgröße", "Effectif", "Effectifs", "Nombre d'employés", "Nombre de salariés", "Taille de l'entreprise",
		"Empleados", "Número de empleados", "Nº de empleados", "Tamaño de la empresa", "NumberOfEmployees", "companySize",
		"Company Headcount", "Company Employee Count", "Company employees", "Employee range", "Employees range", "Company Employee Range", "Number of Employees (Company)", "Company Number of Employees", "Anzahl der Mitarbeiter",
	},
	"account_annual_revenue": {
		"Annual revenue", "Revenue", "Company revenue", "Umsatz", "Jahresumsatz", "Chiffre d'affaires", "CA", "CA annuel", "Facturación", "Facturación anual", "Ingresos anuales", "Ingresos", "AnnualRevenue",
		"Company Annual Revenue", "Revenue range", "Company Revenue Range",
	},
	"account_country": {
		"Company Country", "Account Country", "Billing Country", "Company HQ Country", "HQ Country", "Organization - Country", "Country (Company)", "Land (Firma)", "Pays (entreprise)", "País (empresa)",
	},
	"account_location": {
		"Company City", "Account City", "Company location", "companyLocation", "Firmensitz", "Company HQ City", "HQ City", "Company HQ Location", "Headquarters",
	},
	"account_linkedin_url": {
		"Company Linkedin Url", "LinkedIn Company Page", "Company LinkedIn", "regularCompanyUrl", "companyUrl", "Company LinkedIn URL", "LinkedIn Company Profile URL", "Company LinkedIn Profile", "Company LinkedIn Page", "linkedinCompanyUrl",
	},
	"account_phone_number": {
		"Company Phone", "Account Phone", "Main phone", "Zentrale", "Corporate Phone", "Company HQ Phone", "HQ Phone", "HQ", "Switchboard", "Company Phone Number", "Company Main Phone", "Telefon Firma", "Firmentelefon", "Telefon Zentrale", "Téléphone société", "Teléfono de la empresa", "Teléfono principal de la compañía", "Organization - Phone",
	},
}

// catalogPersonHeaders are the names of further columns of tables of people of the catalog.
var catalogPersonHeaders = map[string][]string{
	"id":              {"Record ID", "Contact ID", "Person - ID", "Apollo Contact Id", "Person ID", "vmid"},
	"company_id":      {"Company ID", "Account ID", "AccountId", "Organization ID", "Apollo Account Id", "companyId"},
	"company_website": contactHeaders["account_website"],
	"seniority":       {"Seniority", "Seniority level", "Management level", "Hierarchieebene", "Karrierestufe", "Niveau hiérarchique", "Nivel jerárquico", "Antigüedad"},
	"department":      {"Department", "Departments", "Abteilung", "Bereich", "Service", "Département", "Departamento", "Área"},
	"country":         personCountries,
	"location":        slices.Concat(personLocations, personCities),
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
		"Website-URL", "URL du site web", "URL del sitio web", "Company Website URL", "Unternehmensdomain", "Nom de domaine", "Nombre de dominio de la empresa", "Name der Unternehmensdomain", "Domain des Unternehmens",
	},
	"industry": {
		"Industry", "Company industry", "Branche", "Industrie", "Wirtschaftszweig", "Secteur", "Secteur d'activité", "Sector", "Industria", "Sector de actividad", "Organization - Industry", "Vertical", "Primary Industry", "Main industry",
	},
	"sub_industry": {"Sub-industry", "Subindustry", "Unterbranche", "Sous-secteur", "Subsector"},
	"employee_count": {
		"Employee count", "Number of employees", "# Employees", "Employees", "Company size", "Headcount", "Size", "Mitarbeiter", "Mitarbeiterzahl", "Mitarbeiteranzahl", "Anzahl Mitarbeiter", "Anzahl der Mitarbeiter", "Beschäftigte", "Unternehmensgröße", "Firmengröße",
		"Effectif", "Effectifs", "Nombre d'employés", "Nombre de salariés", "Salariés", "Taille de l'entreprise", "Empleados", "Número de empleados", "Nº de empleados", "Plantilla", "Tamaño de la empresa",
		"NumberOfEmployees", "Organization - Number of employees", "employeeCount",
		"Company Headcount", "Company Employee Count", "Employee range", "Employees range", "Company Employee Range",
	},
	"annual_revenue": {
		"Annual revenue", "Revenue", "Yearly revenue", "Turnover", "Umsatz", "Jahresumsatz", "Umsatz (EUR)", "Chiffre d'affaires", "Chiffre d'affaires annuel", "CA", "CA annuel", "Facturación", "Facturación anual", "Ingresos", "Ingresos anuales", "Ventas",
		"AnnualRevenue", "Organization - Annual revenue",
		"Company revenue", "Company Annual Revenue", "Revenue range",
	},
	"founded_year": {
		"Founded year", "Year founded", "Founded", "Year started", "YearStarted", "Gründungsjahr", "Gegründet", "Année de création", "Année de fondation", "Année fondée", "Año de fundación", "Fundada en", "Fundación", "Company Year Founded", "Jahr der Gründung",
	},
	"description": {
		"Description", "About", "Summary", "About us", "Beschreibung", "Kurzbeschreibung", "Firmenbeschreibung", "Descriptif", "Descripción", "Short Description", "SEO Description", "companyDescription",
	},
	"keywords":     {"Keywords", "Schlüsselwörter", "Mots-clés", "Palabras clave"},
	"technologies": {"Technologies", "Technologien", "Tecnologías", "Tech stack"},
	"country": {
		"Country", "Country/Region", "Land", "Staat", "Pays", "País", "Billing Country", "BillingCountry", "Company Country", "Organization - Country of Address", "Headquarters country", "Land/Region", "Pays/Région", "País/región", "Company HQ Country", "HQ Country",
	},
	"location": {
		"Location", "City", "Headquarters", "HQ", "Ort", "Stadt", "Sitz", "Firmensitz", "Standort", "Ville", "Siège", "Localisation", "Ciudad", "Localidad", "Sede", "Ubicación", "Población", "Billing City", "BillingCity", "Company City", "Organization - Address", "Company Address",
		"Company HQ City", "HQ City",
	},
	"linkedin_url": {
		"LinkedIn URL", "LinkedIn", "Company Linkedin Url", "LinkedIn Company Page", "LinkedIn-Profil", "LinkedIn-Seite", "Page LinkedIn", "Página de LinkedIn", "Organization - LinkedIn profile", "linkedInCompanyUrl", "companyUrl", "regularCompanyUrl", "Company LinkedIn", "LinkedIn Company Profile URL", "Company LinkedIn Profile", "LinkedIn-Unternehmensseite",
	},
	"phone_number": {
		"Phone number", "Phone", "Telephone", "Telefon", "Telefonnummer", "Tel", "Tel.", "Rufnummer", "Zentrale", "Téléphone", "Numéro de téléphone", "Tél", "Tél.", "Teléfono", "Número de teléfono", "Company Phone", "Corporate Phone", "Main phone", "Organization - Phone",
		"Company HQ Phone", "HQ Phone", "Switchboard", "Company Main Phone", "Company Phone Number",
	},
}

// accountHeaders are the names of further columns of tables of accounts.
var accountHeaders = map[string][]string{
	"id":    nil,
	"notes": contactHeaders["notes"],
	"external_id": {
		"External ID", "Record ID", "Account ID", "AccountId", "Company ID", "Organization - ID", "Organization ID", "Apollo Account Id", "Kundennummer", "Kunden-Nr.", "Kundennr", "Debitorennummer", "Identifiant", "N° client", "Référence client", "Número de cliente", "Código de cliente", "ID", "CRM ID", "Datensatz-ID", "ID de registro", "ID d'enregistrement", "ZoomInfo Company ID",
	},
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
