package rows

import (
	"slices"
	"strings"
)

// idColumns are the names of columns of ids, by the system that writes them. Ids of other columns, such as ID or Kundennummer,
// belong to no system. Names are compared like those in known_headers.txt.
var idColumns = map[string][]string{
	"hubspot": {
		"Record ID", "Datensatz-ID", "ID de registro", "ID de l'enregistrement", "ID d'enregistrement", "hs_object_id", "Associated Company ID", "Associated Company IDs", "Primary Associated Company ID",
	},
	"pipedrive": {"Person - ID", "Organization - ID", "Deal - ID", "Lead - ID"},
	"apollo":    {"Apollo Contact Id", "Apollo Account Id"},
	"linkedin":  {"vmid"},
}

// externalID is the field with the id that a record has in another system.
const externalID = "external_id"

// salesforce is the system whose ids are recognized by their form.
const salesforce = "salesforce"

// idSystems returns the systems that ids can belong to.
func idSystems() []string {
	return []string{"hubspot", "pipedrive", "apollo", "linkedin", salesforce, "prospector"}
}

// IDSystem returns the system that writes ids into a column with a name, or "".
func IDSystem(column string) string {
	column = foldHeader(column)
	for system, names := range idColumns {
		if slices.ContainsFunc(names, func(name string) bool { return foldHeader(name) == column }) {
			return system
		}
	}
	return ""
}

// SystemID returns an id with the name of its system, such as hubspot:12. An id of Salesforce is known by its form, and has its
// 18 characters, which tell upper and lower case apart. An id of no system stays as it is.
func SystemID(system, id string) string {
	id = strings.TrimSpace(id)
	if of, _ := cutSystem(id); of != "" || id == "" {
		return id
	}
	if long := salesforceID(id); long != "" && (system == "" || system == salesforce) {
		return salesforce + ":" + long
	}
	if system == "" {
		return id
	}
	return system + ":" + id
}

// IDSystemOf returns the system of an id, or "".
func IDSystemOf(id string) string {
	system, _ := cutSystem(id)
	return system
}

// OtherSpellings returns what an id may be stored as: with the name of a system, if it has none, and without it.
func OtherSpellings(id string) (all []string) {
	if system, bare := cutSystem(id); system != "" {
		return []string{bare}
	}
	for _, system := range idSystems() {
		if other := SystemID(system, id); IDSystemOf(other) == system {
			all = append(all, other)
		}
	}
	return all
}

func cutSystem(id string) (system, bare string) {
	system, bare, found := strings.Cut(id, ":")
	if system = strings.ToLower(system); !found || bare == "" || !slices.Contains(idSystems(), system) {
		return "", id
	}
	return system, bare
}

// salesforceID returns the 18 characters of an id of a lead, a contact or an account of Salesforce, or "". The last three say
// which of the others are in upper case.
func salesforceID(id string) string {
	if len(id) != 15 && len(id) != 18 || !slices.ContainsFunc([]string{"001", "003", "00Q"}, func(kind string) bool { return strings.HasPrefix(id, kind) }) {
		return ""
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return ""
		}
	}
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
	long := id[:15]
	for block := range 3 {
		upper := 0
		for i := range 5 {
			if c := id[5*block+i]; c >= 'A' && c <= 'Z' {
				upper |= 1 << i
			}
		}
		long += digits[upper : upper+1]
	}
	if len(id) == 18 && long != id {
		return id // a program has changed the case of the whole id
	}
	return long
}
