package sequence

import (
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/store"
)

// campaignCounters count the sequences of a campaign. They are updated in the transaction of each
// change, because counting on demand is O(sequences).
type campaignCounters struct {
	NotStarted int            `json:"not_started,omitzero"`
	Active     int            `json:"active"`
	Completed  int            `json:"completed"`
	Stopped    int            `json:"stopped"`
	Reasons    map[string]int `json:"reasons,omitzero"` // stopped sequences by reason
	// NotStartedReasons count the sequences that have not started by reason.
	NotStartedReasons map[string]int        `json:"not_started_reasons,omitzero"`
	Sent              int                   `json:"sent"`
	Captured          int                   `json:"captured,omitzero"`
	Failed            int                   `json:"failed"`
	OpenTasks         int                   `json:"tasks"`
	Steps             map[int]*stepCounters `json:"steps,omitzero"` // by step index
	// Recent tells which of the last bounceWindow messages bounced, the newest in the lowest bit. It
	// does not follow from the sequences.
	Recent uint64 `json:"recent,omitzero"`
	// RecentUnknown tells in the same way which of the last unknownWindow messages are unknown. UnknownRow
	// are the domains of those that are unknown in a row, at most maxRefusals.
	RecentUnknown uint64   `json:"recent_unknown,omitzero"`
	UnknownRow    []string `json:"unknown_row,omitzero"`

	isDamaged bool // what is stored cannot be read
	shown     int  // how many newcomers the campaign shows
}

// stepCounters count the sequences of a campaign by the status of one step.
type stepCounters struct {
	Waiting int `json:"waiting"`
	Done    int `json:"done"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	Held    int `json:"held,omitzero"`
}

func newCampaignCounters() *campaignCounters {
	return &campaignCounters{
		Reasons: map[string]int{}, NotStartedReasons: map[string]int{}, Steps: map[int]*stepCounters{},
	}
}

// readCounters reads the counters of a campaign. They are zero if it never had sequences.
func (e *Engine) readCounters(tx *store.Tx, campaign uuid.UUID) (*campaignCounters, error) {
	c := newCampaignCounters()
	body, err := e.counters.Get(tx, campaign, 0)
	if err == nil && body != nil {
		err = json.Unmarshal(body, c)
	}
	return c, err
}

// step returns the counters of a step.
func (c *campaignCounters) step(index int) *stepCounters {
	s := c.Steps[index]
	if s == nil {
		s = &stepCounters{}
		c.Steps[index] = s
	}
	return s
}

// add adds a sequence n times. n is -1 to subtract it.
func (c *campaignCounters) add(s *Sequence, n int) {
	switch s.Status {
	case SequenceNotStarted:
		c.NotStarted += n
		addTo(c.NotStartedReasons, string(s.Reason), n)
	case SequenceActive:
		c.Active += n
	case SequenceCompleted:
		c.Completed += n
	case SequenceStopped:
		c.Stopped += n
		addTo(c.Reasons, string(s.Reason), n)
	}
	c.Sent += n * s.state.Earlier.Sent
	c.Captured += n * s.state.Earlier.Captured
	c.Failed += n * s.state.Earlier.Failed
	for i := range s.History {
		h := &s.History[i]
		if s.state.Steps[i].Gone {
			continue
		}
		step := c.step(h.StepIndex)
		switch h.Status {
		case StepWaiting:
			step.Waiting += n
		case StepTaskOpen:
			step.Waiting += n
			c.OpenTasks += n
		case StepSent:
			step.Done += n
			c.Sent += n
		case StepCaptured:
			step.Done += n
			c.Captured += n
		case StepHeld:
			step.Held += n
		case StepDone:
			step.Done += n
		case StepSkipped:
			step.Skipped += n
			if h.MessageID.Valid { // its message failed because the sequence stopped
				c.Failed += n
			}
		case StepFailed, StepUnknown:
			step.Failed += n
			c.Failed += n
		}
	}
}

// newcomers returns how many sequences await confirmation.
func (c *campaignCounters) newcomers() int {
	return c.NotStartedReasons[string(StopAwaitingConfirmation)]
}

// enrolled returns the number of sequences.
func (c *campaignCounters) enrolled() int { return c.NotStarted + c.Active + c.Completed + c.Stopped }

// addTo adds n to the count of a key, and removes counts that are zero.
func addTo(counts map[string]int, key string, n int) {
	if counts[key] += n; counts[key] == 0 {
		delete(counts, key)
	}
}

// count adds a sequence n times to the counters of its campaign.
func (x *engineTx) count(s *Sequence, n int) error {
	c, err := x.countersOf(s.CampaignID)
	if err == nil {
		c.add(s, n)
	}
	return err
}

// countersOf returns the counters of a campaign, which the transaction stores when it ends. Damaged counters must
// not keep a sequence from stopping. They count from zero in each transaction and are not stored, so that they stay
// visible as damaged until they are repaired.
func (x *engineTx) countersOf(campaign uuid.UUID) (c *campaignCounters, err error) {
	if c = x.counters[campaign]; c == nil {
		c, err = x.engine.readCounters(x.tx, campaign)
		if store.IsDamagedRecord(err) {
			c, err = newCampaignCounters(), nil
			c.isDamaged = true
		}
		if err != nil {
			return nil, err
		}
		c.shown = c.newcomers()
		x.counters[campaign] = c
	}
	return c, nil
}

// saveCounters stores the counters that changed.
func (x *engineTx) saveCounters() error {
	for id, c := range x.counters {
		if c.isDamaged {
			continue
		}
		if err := x.engine.writeCounters(x.tx, id, c); err != nil {
			return err
		}
	}
	clear(x.counters)
	return nil
}

// writeCounters stores the counters of a campaign, and shows its newcomers there.
func (e *Engine) writeCounters(tx *store.Tx, campaign uuid.UUID, c *campaignCounters) error {
	body, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		return err
	}
	e.counters.Put(tx, campaign, 0, body)
	if c.newcomers() == c.shown {
		return nil
	}
	if err := e.outreach.SetNewcomers(tx, campaign, c.newcomers()); err != nil && !isUnreadable(err) {
		return err
	}
	return nil
}

// verifyCounters checks the counters after it has written those again that are damaged or wrong.
func (e *Engine) verifyCounters(tx *store.Tx, report store.Report) error {
	if err := e.correctCounters(tx, report); err != nil {
		return err
	}
	return e.counters.Verify(tx, report)
}

// correctCounters compares the stored counters with the sequences. In an Update it corrects them. While a
// sequence is damaged, the counters cannot be compared.
func (e *Engine) correctCounters(tx *store.Tx, report store.Report) error {
	if e.sequences.HasDamaged(tx) {
		return nil
	}
	counted := map[uuid.UUID]*campaignCounters{}
	err := e.sequences.Scan(tx, func(doc store.Doc[Sequence]) (bool, error) {
		c := counted[doc.Record.CampaignID]
		if c == nil {
			c = newCampaignCounters()
			counted[doc.Record.CampaignID] = c
		}
		c.add(&doc.Record, 1)
		return true, nil
	})
	if err != nil {
		return err
	}
	for campaign, want := range counted {
		stored, err := e.readCounters(tx, campaign)
		if err != nil && !store.IsDamagedRecord(err) {
			return err
		}
		if err == nil && stored.equal(want) {
			continue
		}
		if tx.Writable() {
			want.shown = -1 // it may show any number
			if err := e.writeCounters(tx, campaign, want); err != nil {
				return err
			}
		}
		report(tx.Writable(), "campaign %s: its counters do not match its sequences", campaign)
	}
	return nil
}

// equal compares the totals.
func (c *campaignCounters) equal(o *campaignCounters) bool {
	return c.NotStarted == o.NotStarted && c.newcomers() == o.newcomers() && c.Active == o.Active &&
		c.Completed == o.Completed && c.Stopped == o.Stopped && c.Sent == o.Sent && c.Captured == o.Captured &&
		c.Failed == o.Failed && c.OpenTasks == o.OpenTasks
}
