package handlers

import "strings"

// groups are what the API document files operations under: the part of the path that says what they are about.
var groups = []apiTag{
	{"organization", "The organization of the key: its settings and limits."},
	{"users", "The people of the organization."},
	{"api-keys", "The keys that requests carry."},
	{"me", "Whom the key belongs to."},
	{"accounts", "The companies that are sold to."},
	{"contacts", "The people at them."},
	{"tam", "The target market: Previews of the companies and people that match it, and their Imports."},
	{"audiences", "Named sets of contacts."},
	{"sequence-templates", "What contacts are taken through: steps, what leads from one to another, and reusable texts."},
	{"campaigns", "Sequence templates that are run against audiences."},
	{outboxGroup, "The messages of campaigns, and the page on which whoever gets them opts out."},
	{"opportunities", "The deals with accounts."},
	{"tasks", "What somebody has to do."},
	{"meetings", "Appointments with contacts."},
	{"account-views", "Selections of accounts that are kept under a name."},
	{"tags", "Coloured labels of records."},
	{"fields", "The custom fields that records of the organization have beside those of every organization."},
	{"suppressions", "Addresses and domains that nothing may be sent to."},
	{"companies", "The companies of the catalogue: the market that all organizations of the installation share."},
	{"people", "The people at them."},
	{webhookGroup, "Subscriptions to events, and what was delivered to them. The events themselves are under `webhooks`."},
	{"schemas", "Which fields the records of an entity have, and how lists filter and sort by them."},
	{serviceGroup, "The service itself. None of it needs a key."},
}

const (
	outboxGroup  = "outbox"
	serviceGroup = "service"
	webhookGroup = "webhooks"
)

// group is the one that an operation is filed under.
func (o *Operation) group() string {
	if isForPeople(o.Path) {
		return outboxGroup
	}
	path := strings.TrimPrefix(o.Path, "/v1/preview/") // the older path of a contact
	path = strings.TrimPrefix(path, "/v1/")
	if group, _, _ := strings.Cut(path, "/"); group != "" {
		return group
	}
	return serviceGroup
}
