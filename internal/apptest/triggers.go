package apptest

import (
	"slices"
)

// TriggerKeys returns the keys of all triggers in the specification.
func TriggerKeys() []string {
	keys := []string{"contact.unsubscribed", "tam_preview.ready", "tam_preview.failed", "tam_preview.cancelled",
		"tam_import.accepted", "tam_import.completed", "tam_import.failed", "import.completed", "import.failed", "import.cancelled", "webhook.test",
		"campaign.created", "campaign.updated", "campaign.activated", "campaign.paused", "campaign.completed", "campaign.archived", "campaign.held", "campaign.newcomers", "campaign.released",
		"sequence.started", "sequence.step_completed", "sequence.completed", "sequence.stopped", "message.sent", "message.captured", "message.failed", "message.bounced", "message.unknown",
		"suppression.created", "suppression.deleted"}
	for _, object := range []string{"account", "contact", "opportunity", "task", "meeting", "tag", "audience", "sequence_template"} {
		keys = append(keys, object+".created", object+".updated", object+".deleted")
	}
	for _, object := range []string{"account", "contact", "opportunity", "task", "meeting", "tag", "audience", "sequence_template", "campaign"} {
		keys = append(keys, object+".restored")
	}
	slices.Sort(keys)
	return keys
}
