package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/internal/sequence"
	"prospector/internal/service"
	"prospector/internal/webhook"
	"prospector/store"
)

const (
	// endpointDescription identifies the webhook subscription of the demo.
	endpointDescription = "Printed by prospector demo"

	// maxShowTime is how long the guide waits for the campaign to end.
	maxShowTime = time.Minute

	// campaignLength is a little more than the campaign takes, by its own clock.
	campaignLength = 21 * 24 * time.Hour

	// statusInterval is how often the simulated time is shown on a terminal.
	statusInterval = 100 * time.Millisecond

	// replyTo is which first email is answered.
	replyTo = 3
)

// campaignShow prints what a campaign does. It learns about it as any subscriber does, from a
// webhook.
type campaignShow struct {
	service  *service.Service
	org      uuid.UUID
	campaign uuid.UUID
	out      io.Writer
	terminal bool
	speed    float64
	done     chan struct{} // closed when the campaign has ended and everything is printed

	mu       sync.Mutex
	messages map[uuid.UUID]sentMessage // sent, but not yet printed
	times    map[uuid.UUID]time.Time   // when messages were sent, by the clock of sequences
	printed  int                       // messages, including those of earlier runs
	first    int                       // first emails that were printed
	day      string                    // the last day that was printed
	ended    bool                      // done is closed
}

// sentMessage is the data of a message event, as far as the show needs it.
type sentMessage struct {
	ID         uuid.UUID `json:"id"`
	CampaignID uuid.UUID `json:"campaign_id"`
	SequenceID uuid.UUID `json:"sequence_id"`
	ContactID  uuid.UUID `json:"contact_id"`
	StepIndex  int       `json:"step_index"`
	Subject    string    `json:"subject"`
	Status     string    `json:"status"`
	Error      string    `json:"error"`
}

// changedSequence is the data of a sequence event, as far as the show needs it.
type changedSequence struct {
	CampaignID uuid.UUID `json:"campaign_id"`
	ContactID  uuid.UUID `json:"contact_id"`
	Reason     string    `json:"reason"`
	History    []struct {
		At        time.Time     `json:"at"`
		MessageID uuid.NullUUID `json:"message_id"`
	} `json:"history"`
}

// startShow subscribes the show to the events of the campaign and activates the campaign.
func startShow(ctx context.Context, s *service.Service, org uuid.UUID, opt Options) (*campaignShow, error) {
	show := &campaignShow{
		service: s, org: org, out: opt.Out, terminal: opt.Terminal, speed: s.Config.Sequences.Speed,
		done: make(chan struct{}), messages: map[uuid.UUID]sentMessage{}, times: map[uuid.UUID]time.Time{},
	}
	url, err := show.listen(ctx)
	if err != nil {
		return nil, err
	}
	if err := show.subscribe(ctx, url); err != nil {
		return nil, err
	}
	if show.campaign, err = ensureRunning(ctx, s, org); err != nil {
		return nil, err
	}
	stats, err := show.stats()
	show.printed = stats.MessagesCaptured
	return show, err
}

// listen serves the endpoint of the webhook until ctx ends.
func (c *campaignShow) listen(ctx context.Context) (url string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(c.receive)}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(ln) }() // until it is closed with ctx
	return "http://" + ln.Addr().String(), nil
}

// subscribe replaces the subscription of an earlier run.
func (c *campaignShow) subscribe(ctx context.Context, url string) error {
	w := c.service.Webhooks
	return c.service.Store.Update(ctx, c.org, actor, func(tx *store.Tx) error {
		old, err := find(tx, w.Subscriptions, func(s *webhook.Subscription) bool {
			return string(s.Description) == endpointDescription
		})
		if err == nil && old != uuid.Nil {
			err = w.Subscriptions.Delete(tx, old, nil)
		}
		if err != nil {
			return err
		}
		v, err := object(map[string]any{
			"url": url, "description": endpointDescription,
			"triggers": []string{"message.*", "sequence.step_completed", "sequence.completed", "sequence.stopped"},
		})
		if err != nil {
			return err
		}
		_, _, err = w.Create(tx, record.NewDraft[webhook.Subscription](v))
		return err
	})
}

// stats returns the statistics of the campaign.
func (c *campaignShow) stats() (stats sequence.CampaignStats, err error) {
	err = c.service.Store.View(c.org, func(tx *store.Tx) error {
		stats, err = c.service.Sequences.Stats(tx, c.campaign)
		return err
	})
	return stats, err
}

// contacts returns how many contacts the campaign has.
func (c *campaignShow) contacts() (n int) {
	_ = c.service.Store.View(c.org, func(tx *store.Tx) error {
		doc, err := c.service.Outreach.Campaigns.Get(tx, c.campaign)
		if err != nil {
			return err
		}
		all, err := c.service.Outreach.CampaignContacts(tx, &doc.Record, math.MaxInt)
		n = len(all)
		return err
	})
	return n
}

// run prints the events of the campaign. The guide follows when the campaign is over, or precedes
// them if the campaign takes long. run does not wait.
func (c *campaignShow) run(ctx context.Context, guide string) {
	stats, err := c.stats()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil && stats.Active == 0 && stats.Completed+stats.Stopped > 0:
		fmt.Fprintf(c.out, "\nThe campaign %q ran in an earlier demo. Delete the data directory to see it again.\n", runningCampaign)
		fmt.Fprint(c.out, guide)
		return
	case c.speed*maxShowTime.Seconds() < campaignLength.Seconds():
		fmt.Fprint(c.out, guide)
		fmt.Fprintf(c.out, "\nThe campaign %q runs at %s:\n", runningCampaign, pace(c.speed))
		return
	}
	fmt.Fprintf(c.out, "\nThe campaign %q runs at %s. It sends three emails to each of %d contacts, unless they\n"+
		"have opted out or reply. Nothing leaves this machine.\n", runningCampaign, pace(c.speed), c.contacts())
	go c.wait(ctx, guide)
}

// wait shows the simulated time until the campaign is over, and then the guide.
func (c *campaignShow) wait(ctx context.Context, guide string) {
	tick := time.NewTicker(statusInterval)
	defer tick.Stop()
	late := time.NewTimer(maxShowTime)
	defer late.Stop()
	for waiting := true; waiting; {
		select {
		case <-ctx.Done():
			return
		case <-c.done:
			waiting = false
		case <-late.C:
			waiting = false
		case <-tick.C:
			c.mu.Lock()
			c.showTime()
			c.mu.Unlock()
		}
	}
	stats, err := c.stats()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clearTime()
	if err == nil && stats.Active == 0 {
		fmt.Fprintf(c.out, "\nThe campaign is over: %d emails to %d contacts, %d of whom replied.\n",
			stats.MessagesCaptured, stats.Completed+stats.Stopped, stats.StoppedByReason[string(sequence.StopReplied)])
	}
	fmt.Fprint(c.out, guide)
}

// receive takes an event.
func (c *campaignShow) receive(w http.ResponseWriter, r *http.Request) {
	var event struct {
		TriggerKey string          `json:"trigger_key"`
		Data       json.RawMessage `json:"data"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&event); err != nil {
		http.Error(w, "not an event", http.StatusBadRequest)
		return
	}
	var replies []sentMessage
	c.mu.Lock()
	switch event.TriggerKey {
	case "message.captured", "message.failed":
		var m sentMessage
		if json.Unmarshal(event.Data, &m) == nil && m.CampaignID == c.campaign {
			c.messages[m.ID] = m
		}
	default:
		var s changedSequence
		if json.Unmarshal(event.Data, &s) == nil && s.CampaignID == c.campaign {
			c.takeSequence(event.TriggerKey, &s)
		}
	}
	for id, m := range c.messages {
		if at, known := c.times[id]; known {
			if c.printMessage(&m, at) {
				replies = append(replies, m)
			}
			delete(c.messages, id)
		}
	}
	c.mu.Unlock()
	for _, m := range replies {
		c.reply(r.Context(), &m)
	}
	c.checkEnded()
}

// takeSequence notes when the messages of a sequence were sent, which their events do not say, and
// prints why a sequence was stopped.
func (c *campaignShow) takeSequence(trigger string, s *changedSequence) {
	var last time.Time
	for _, step := range s.History {
		if step.At.After(last) {
			last = step.At
		}
		if step.MessageID.Valid && !step.At.IsZero() {
			c.times[step.MessageID.UUID] = step.At
		}
	}
	if trigger == "sequence.stopped" && !last.IsZero() { // something had happened
		what := "receives nothing more: " + s.Reason
		if s.Reason == string(sequence.StopReplied) {
			what = "replied, so no further email follows"
		}
		c.printLine(last, s.ContactID, what)
	}
}

// printMessage prints a message, and reports whether its recipient replies.
func (c *campaignShow) printMessage(m *sentMessage, at time.Time) (replies bool) {
	if m.Status != string(sequence.MessageCaptured) {
		c.printLine(at, m.ContactID, fmt.Sprintf("%q was not sent: %s", m.Subject, m.Error))
		return false
	}
	c.printLine(at, m.ContactID, fmt.Sprintf("received %q", m.Subject))
	c.printed++
	if m.StepIndex > 0 {
		return false
	}
	c.first++
	return c.first == replyTo
}

// printLine prints what happened to a contact, under the day on which it happened.
func (c *campaignShow) printLine(at time.Time, contact uuid.UUID, what string) {
	c.clearTime()
	if day := at.Format("Monday 2 January 2006"); day != c.day {
		c.day = day
		fmt.Fprintf(c.out, "\n%s\n", day)
	}
	fmt.Fprintf(c.out, "  %s  %-42s %s\n", at.Format("15:04"), c.who(contact), what)
}

// who returns the name and the company of a contact.
func (c *campaignShow) who(id uuid.UUID) (name string) {
	name = "a deleted contact"
	_ = c.service.Store.View(c.org, func(tx *store.Tx) error {
		contact, err := c.service.CRM.Contacts.Get(tx, id)
		if err != nil {
			return err
		}
		name = fullName(&contact.Record)
		var account store.Doc[crm.Account]
		if contact.Record.AccountID.Valid {
			if account, err = c.service.CRM.Accounts.Get(tx, contact.Record.AccountID.UUID); err == nil {
				name += ", " + string(account.Record.Name)
			}
		}
		return err
	})
	return name
}

// reply stops the sequence of a message, as a user does when its recipient replies.
func (c *campaignShow) reply(ctx context.Context, m *sentMessage) {
	_ = c.service.Store.Update(ctx, c.org, actor, func(tx *store.Tx) error {
		_, err := c.service.Sequences.StopSequence(tx, m.SequenceID, sequence.StopBody{Reason: sequence.StopReplied})
		return err
	})
}

// checkEnded closes done once no sequence is active and every message is printed.
func (c *campaignShow) checkEnded() {
	stats, err := c.stats()
	if err != nil || stats.Active > 0 || stats.Completed+stats.Stopped == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.printed >= stats.MessagesCaptured && !c.ended {
		c.ended = true
		close(c.done)
	}
}

// showTime shows the simulated time in the last line of a terminal.
func (c *campaignShow) showTime() {
	if c.terminal {
		now := c.service.Store.Now().Add(c.service.Sequences.ClockAhead()).UTC()
		fmt.Fprintf(c.out, "\r\x1b[K  %s", now.Format("Monday 2 January 2006, 15:04"))
	}
}

func (c *campaignShow) clearTime() {
	if c.terminal {
		fmt.Fprint(c.out, "\r\x1b[K")
	}
}
