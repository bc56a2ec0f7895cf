package handlers

import (
	"strings"

	"prospector/internal/console"
)

// groups are the tags of the API document. An operation belongs to the group named by the first part of
// its path.
var groups = []apiTag{
	{"organization", "The organization of the API key: its settings and limits."},
	{"users", "The users of the organization."},
	{"api-keys", "The API keys of the organization."},
	{"me", "The user and organization of the API key or session."},
	{"sessions", "Sign-ins to the console. A request with the cookie of a session must have the header `X-Prospector-Console: 1` and, unless it is a GET, an Origin of this server. A request with the header `X-Prospector-User` is refused unless it names the user of the session."},
	{"accounts", "The companies that the organization sells to."},
	{"contacts", "The people at these companies."},
	{"tam", "The total addressable market: Previews of matching companies and people, and their Imports."},
	{"imports", "Imports of files: contacts, accounts and suppressions from CSV or JSON lines."},
	{"audiences", "Named sets of contacts."},
	{"sequence-templates", "Templates of sequences: steps, the transitions between them, and reusable blocks of text."},
	{"campaigns", "Campaigns run sequence templates against audiences."},
	{"sequences", "The progress of contacts through campaigns."},
	{"mail", "The mail server."},
	{outboxGroup, "The messages of campaigns, and the unsubscribe page for their recipients."},
	{"opportunities", "Deals with accounts."},
	{"tasks", "Things that users have to do."},
	{"meetings", "Appointments with contacts."},
	{"views", "Saved lists of records: filters, order and columns."},
	{"account-views", "The views of accounts, at their older path."},
	{"tags", "Colored labels of records."},
	{"fields", "The custom fields that an organization adds to its records."},
	{"suppressions", "Email addresses and domains that never receive messages."},
	{"companies", "The companies of the catalog, which all organizations of the installation share."},
	{"people", "The people at these companies."},
	{webhookGroup, "Subscriptions to events, and the history of their deliveries. The events are documented under `webhooks`."},
	{"webhook-deliveries", "The attempts to deliver events, of all subscriptions."},
	{"operations", "Changes and deletions of many records at once, which run in the background."},
	{"erasures", "Erasing people."},
	{"search", "One search in the records of several kinds."},
	{"indexes", "The indexes that lists use, and how far they are built."},
	{"schemas", "The fields of each entity, and how lists can filter and sort by them."},
	{serviceGroup, "Health, metrics and documentation of the service. These operations need no API key."},
}

const (
	outboxGroup  = "outbox"
	serviceGroup = "service"
	webhookGroup = "webhooks"
)

// group returns the group of an operation.
func (o *Operation) group() string {
	if isRecipientPage(o.Path) {
		return outboxGroup
	}
	path := strings.TrimPrefix(o.Path, "/v1/preview/") // the older path of update_contact
	path = strings.TrimPrefix(path, "/v1/")
	if group, _, _ := strings.Cut(path, "/"); group != "" {
		return group
	}
	return serviceGroup
}

// docsPages returns the names of the pages under /docs: one for each group, and two more.
func docsPages() []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return append(names, console.EventsPage, console.TypesPage)
}
