package handlers

import (
	"net/http"

	"github.com/google/uuid"

	"prospector/internal/bulk"
	"prospector/internal/identity"
	"prospector/internal/operation"
	"prospector/internal/sequence"
	"prospector/store"
)

// CorrectTemplateBody says whether running sequences are only counted.
type CorrectTemplateBody struct {
	DryRun bool `json:"dry_run" doc:"Only counts the sequences. The operation is completed at once."`
}

// correctTemplateOperation brings the running sequences of the campaign at a path to the newest text.
func (a *API) correctTemplateOperation(path string) Operation {
	return writeWithLookup(Operation{
		Name: "correct_campaign_template", Method: http.MethodPost, Path: path + "/template", Access: identity.Write,
		Status:  http.StatusAccepted,
		Summary: "Bring the running sequences of a campaign to the newest text of its template, in the background",
		example: []byte(`{"dry_run": true}`),
	}, func(c *call, in createBody[CorrectTemplateBody]) (r bulk.Request, err error) {
		body, p := in.Open()
		campaign, err := c.pathID(0)
		if err != nil {
			return r, err
		}
		err = a.Store.View(c.org(), func(tx *store.Tx) error {
			r, err = a.correction(tx, campaign, body.DryRun, c.request.Context().Err)
			return err
		})
		if err == nil {
			err = p.Err()
		}
		return r, err
	}, func(_ *call, tx *store.Tx, _ createBody[CorrectTemplateBody], r bulk.Request) (store.Doc[operation.Operation], error) {
		return a.Bulk.Start(tx, r)
	})
}

// correction returns the operation that corrects the running sequences of a campaign. A dry run looks at each.
func (a *API) correction(tx *store.Tx, campaign uuid.UUID, dryRun bool, isCanceled func() error) (r bulk.Request, err error) {
	version, ids, err := a.Sequences.TemplateToCorrect(tx, campaign)
	r = bulk.Request{
		Kind: operation.Template, Entity: "sequences", IDs: ids, DryRun: dryRun, Body: sequence.CorrectionBody(version),
		Kept: &operation.Kept{},
	}
	if !dryRun || err != nil {
		return r, err
	}
	for _, id := range ids {
		if err := isCanceled(); err != nil {
			return r, err
		}
		changed, kept, err := a.Sequences.Correct(tx, id, version, true)
		switch {
		case store.IsDamagedRecord(err):
		case err != nil:
			return r, err
		case changed:
			r.Changed++
		case kept != "":
			r.Kept.Count(string(kept))
		}
	}
	return r, nil
}
