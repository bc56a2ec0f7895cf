package tam

import (
	"prospector/internal/record"
	"prospector/store"
)

// Sources are what the package emits events about.
func (t *Tables) Sources() []store.Source {
	ready, completed := record.Example[Preview](previewExample), record.Example[Import](importExample)
	return []store.Source{
		{
			Object: "tam_preview",
			Triggers: []store.Trigger{
				{Event: "ready", Description: "A Preview was prepared and can be read and imported."},
				{Event: "failed", Description: "A Preview could not be prepared; failure_reason says why.", Example: failedPreview(ready)},
				{Event: "cancelled", Description: "The preparation of a Preview was cancelled.", Example: cancelledPreview(ready)},
			},
			Example: &ready,
			Read:    t.Previews.Public,
		},
		{
			Object: "tam_import",
			Triggers: []store.Trigger{
				{Event: "accepted", Description: "An Import was accepted and goes on in the background.", Example: acceptedImport(completed)},
				{Event: "completed", Description: "An Import has created its Accounts and Contacts."},
				{Event: "failed", Description: "An Import failed; failure_reason says why.", Example: failedImport(completed)},
			},
			Example: &completed,
			Read:    t.Imports.Public,
		},
	}
}
