package offline

import (
	"slices"
	"strings"
)

// technologyNames are technologies that go by several names.
const technologyNames = `amazon web services|aws|amazon aws;microsoft azure|azure|ms azure;google cloud platform|google cloud|gcp;salesforce|salesforce crm|salesforce.com|salesforce sales cloud;
hubspot|hubspot crm;microsoft power bi|power bi|powerbi;microsoft sql server|sql server|mssql;microsoft sharepoint|sharepoint;microsoft excel|excel;microsoft teams|ms teams;
microsoft dynamics|dynamics;microsoft dynamics 365|dynamics 365;apache kafka|kafka;apache spark|spark;apache airflow|airflow;apache hadoop|hadoop;apache cassandra|cassandra;
google bigquery|bigquery;amazon redshift|redshift|aws redshift;amazon s3|s3|aws s3;amazon ec2|ec2|aws ec2;amazon dynamodb|dynamodb|aws dynamodb;aws lambda|amazon lambda;
atlassian jira|jira;atlassian confluence|confluence;atlassian bitbucket|bitbucket;hashicorp terraform|terraform;sap hana|hana;adobe photoshop|photoshop;adobe magento|magento;
kubernetes|k8s;postgresql|postgres;node.js|nodejs;react|react.js|reactjs;vue.js|vue|vuejs;go|golang;mongodb|mongo db`

// technologyKeys gives the first of the names of a technology by each.
var technologyKeys = func() map[string]string {
	m := map[string]string{}
	for group := range strings.SplitSeq(strings.ReplaceAll(technologyNames, "\n", ""), ";") {
		names := strings.Split(group, "|")
		for _, name := range names {
			m[name] = names[0]
		}
	}
	return m
}()

// technology looks for a technology in the list, by its name alone or another that it goes by, with its maker's, with a version,
// or with its initials or its kind in brackets.
func (f *facts) technology(name []token) finding {
	for _, entry := range f.c.Technologies {
		if named(f.words(entry), name, entry) {
			return f.field(yes, "technologies", entry)
		}
	}
	return unsure(notInCatalog)
}

func named(entry, name []token, text string) bool {
	if sameTechnology(entry, name) {
		return true
	}
	if i := slices.IndexFunc(entry, func(t token) bool { return t.join == stopped && t.start > 0 }); i > 0 && strings.HasSuffix(text, ")") {
		initials := i == len(entry)-1 && entry[i].word == initials(entry[:i])
		if !initials && (i != len(entry)-1 || !toolNouns[entry[i].word]) {
			return false
		}
		return named(entry[:i], name, "") || initials && same(entry[i:], name, false)
	}
	if len(entry) == len(name)+1 && entry[len(entry)-1].join == spaced {
		if _, isNumber := number(entry[len(entry)-1].word); isNumber && !makers[name[len(name)-1].word] && sameTechnology(entry[:len(name)], name) {
			return true
		}
		return makers[entry[0].word] && same(entry[1:], name, false)
	}
	return false
}

// sameTechnology tells whether two names are of the same technology.
func sameTechnology(a, b []token) bool {
	if same(a, b, false) {
		return true
	}
	key := technologyKeys[strings.Join(plain(a), " ")]
	return key != "" && key == technologyKeys[strings.Join(plain(b), " ")]
}

func initials(ts []token) string {
	var b strings.Builder
	for _, t := range ts {
		b.WriteString(t.word[:1])
	}
	return b.String()
}
