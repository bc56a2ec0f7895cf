package tam

import (
	"prospector/internal/record"
	"prospector/store"
)

// Sources returns the events that the package emits.
func (t *Tables) Sources() []store.Source {
	ready, completed := record.Example[Preview](previewExample), record.Example[Import](importExample)
	return []store.Source{
		{
			Object: "tam_preview",
			Triggers: []store.Trigger{
				{Event: "ready", Description: "A Preview is ready to be read and imported."},
				{Event: "failed", Description: "A Preview could not be prepared. failure_reason contains the reason.", Example: failedPreview(ready)},
				{Event: "cancelled", Description: "The preparation of a Preview was cancelled.", Example: cancelledPreview(ready)},
			},
			Example: &ready,
			Read:    t.Previews.Public,
		},
		{
			Object: "tam_import",
			Triggers: []store.Trigger{
				{Event: "accepted", Description: "An Import was accepted and runs in the background.", Example: acceptedImport(completed)},
				{Event: "completed", Description: "An Import is complete. Its Accounts and Contacts exist."},
				{Event: "failed", Description: "An Import failed. failure_reason contains the reason.", Example: failedImport(completed)},
			},
			Example: &completed,
			Read:    t.Imports.Public,
		},
	}
}
