package outreach

import (
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/store"
)

// tally is what is counted of the sequences of a campaign. It is kept beside it, in the transaction of each change, for to count
// them when somebody asks would take as long as there are many.
type tally struct {
	Active    int            `json:"active"`
	Completed int            `json:"completed"`
	Stopped   int            `json:"stopped"`
	Reasons   map[string]int `json:"reasons,omitzero"`
	Sent      int            `json:"sent"`
	Failed    int            `json:"failed"`
	Tasks     int            `json:"tasks"` // that are open
	Steps     map[int]*steps `json:"steps,omitzero"`
}

// steps is what has become of a step in all sequences.
type steps struct {
	Waiting int `json:"waiting"`
	Done    int `json:"done"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
}

func (o *Outreach) tallyOf(tx *store.Tx, campaign uuid.UUID) (*tally, error) {
	t := &tally{}
	body, err := o.counts.Get(tx, campaign, 0)
	if err == nil && body != nil {
		err = json.Unmarshal(body, t)
	}
	if t.Reasons == nil {
		t.Reasons = map[string]int{}
	}
	if t.Steps == nil {
		t.Steps = map[int]*steps{}
	}
	return t, err
}

// count adds a sequence to what is counted, or takes it away.
func (e *engine) count(s *Sequence, by int) (err error) {
	t := e.tallies[s.CampaignID]
	if t == nil {
		if t, err = e.tallyOf(e.tx, s.CampaignID); err != nil {
			return err
		}
		e.tallies[s.CampaignID] = t
	}
	t.add(s, by)
	return nil
}

func (t *tally) add(s *Sequence, by int) {
	switch s.Status {
	case SequenceActive:
		t.Active += by
	case SequenceCompleted:
		t.Completed += by
	case SequenceStopped:
		t.Stopped += by
		if t.Reasons[string(s.Reason)] += by; t.Reasons[string(s.Reason)] == 0 {
			delete(t.Reasons, string(s.Reason))
		}
	}
	for i := range s.History {
		h := &s.History[i]
		of := t.Steps[h.StepIndex]
		if of == nil {
			of = &steps{}
			t.Steps[h.StepIndex] = of
		}
		switch h.Status {
		case StepWaiting:
			of.Waiting += by
		case StepTaskOpen:
			of.Waiting += by
			t.Tasks += by
		case StepSent:
			of.Done += by
			t.Sent += by
		case StepDone:
			of.Done += by
		case StepSkipped:
			of.Skipped += by
			if h.MessageID.Valid { // it was given up when the sequence stopped, and has failed
				t.Failed += by
			}
		case StepFailed, StepUnknown:
			of.Failed += by
			t.Failed += by
		}
	}
}

// closeTallies keeps what was counted.
func (e *engine) closeTallies() error {
	for id, t := range e.tallies {
		body, err := json.Marshal(t, json.Deterministic(true))
		if err != nil {
			return err
		}
		e.counts.Put(e.tx, id, 0, body)
	}
	clear(e.tallies)
	return nil
}
