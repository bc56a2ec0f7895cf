package demo

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/tam"
)

// guide is what the demo prints for its user to continue with.
type guide struct {
	url             string
	link            string // to the console, valid once
	keys            [len(organizations)]string
	contact         crm.Contact
	draft           uuid.UUID // a campaign
	running         uuid.UUID // a campaign; nil at the speed of the wall clock
	speed           float64
	preview         tam.Preview
	selectedWebsite string // of a company in the Preview
}

// early returns what is printed before the market is generated, which takes a while.
func (g *guide) early() string {
	return fmt.Sprintf("Serving %s already while the market is generated. %s/readyz reports the progress. To use the API of\n"+
		"%q now:\n  export KEY=%s\n", g.url, g.url, organizations[0].name, g.keys[0])
}

// text returns the guide. The keys are its last lines.
func (g *guide) text() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	// URLs are quoted because shells interpret ? and &.
	get := func(path string) string { return curl("KEY", "'"+g.url+path+"'") }
	post := func(path, body string) string { return curl("KEY", data(g.url+path, body)) }
	contact := "/v1/contacts/" + g.contact.ID.String()
	preview := "/v1/tam/preview/" + g.preview.PreviewID.String()
	name := fullName(&g.contact)

	say("")
	say("Prospector is running at %s with two organizations, %q and %q.", g.url, organizations[0].name, organizations[1].name)
	say("Open this link to use the console, signed in as %s. It works once:", organizations[0].email)
	say("  %s", g.link)
	say("Open %s/docs in a browser to read the API. Press Ctrl-C to stop.", g.url)
	say("")
	say("Try these requests in another terminal. First paste the last two lines of this text, which set the keys.")
	say("")
	say("1. List the hot VPs who may be contacted, by last name, with an exact total:")
	say("   %s", post("/v1/contacts/list", `{"filters": [{"field": "title", "condition": "contains", "value": "vp"}, `+
		`{"field": "scoring.heat_score", "condition": "is", "value": "hot"}, `+
		`{"field": "do_not_contact", "condition": "is", "value": false}], "sort": "last_name", "page_size": 5}`))
	say("")
	say("2. A campaign for them is drafted. Simulate what %s would receive, when and why. Nothing is sent:", name)
	say("   %s", post("/v1/campaigns/"+g.draft.String()+"/simulate", `{"contact_ids": ["`+g.contact.ID.String()+`"]}`))
	say("   Let %s opt out. The list and the simulation follow, and the history shows who made the change:", name)
	say("   %s", curl("KEY", "-X PATCH "+data(g.url+contact, `{"do_not_contact": true}`)))
	say("   %s", get(contact+"/history"))
	say("")
	say("3. A Preview of a market is ready: German companies with more than 50 employees that use Salesforce, and their")
	say("   decision makers%s. It explains who is in, who is out and why:", previewCounts(&g.preview))
	say("   %s", get(preview+"?page_size=5"))
	say("   %s", get(preview+"/members?selected=true&page_size=5"))
	say("   The other organization cannot see it:")
	say("   %s", curl("OTHER_KEY", "'"+g.url+preview+"'"))
	say("   Exclude a company, import the rest, and look at the result, next to the Import of French companies:")
	say("   %s", post(preview+"/exclude", `{"company_websites": ["`+g.selectedWebsite+`"]}`))
	say("   %s", curl("KEY", "-X POST '"+g.url+preview+"/import'"))
	say("   %s", post("/v1/tam/imports/list", `{}`))
	if g.running != uuid.Nil {
		say("")
		say("4. See what the campaign %q did, contact by contact with the reasons, and read its emails:", runningCampaign)
		say("   %s", post("/v1/campaigns/"+g.running.String()+"/sequences/list", `{"page_size": 2}`))
		say("   %s", post("/v1/outbox/list", `{"page_size": 2}`))
		say("   The clock of campaigns continues at %s, so a campaign that you activate runs as fast.", pace(g.speed))
	}
	say("")
	for i, variable := range [...]string{"KEY", "OTHER_KEY"} {
		say("export %s=%s   # %s", variable, g.keys[i], organizations[i].name)
	}
	return b.String()
}

// curl returns a command line that authenticates with the key in a shell variable.
func curl(variable, rest string) string {
	return fmt.Sprintf(`curl -s -H "Authorization: Bearer $%s" %s`, variable, rest)
}

// data returns the arguments of curl that send a JSON body.
func data(url, body string) string {
	return fmt.Sprintf("-H 'Content-Type: application/json' '%s' -d '%s'", url, body)
}

// pace describes the speed of the clock of sequences.
func pace(speed float64) string {
	const day = 24 * 60 * 60
	switch days := speed / day; {
	case days == 1:
		return "one day per second"
	case days == float64(int(days)):
		return fmt.Sprintf("%d days per second", int(days))
	}
	return fmt.Sprintf("%v times real time", speed)
}
