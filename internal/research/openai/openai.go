// Package openai answers Qualifier questions with a language model behind an endpoint that
// implements the OpenAI chat completions API. It owns the HTTP client, the prompt and the parsing of
// replies. It trusts nothing that the endpoint returns, and never puts text from the endpoint into a
// reason or a log line.
package openai

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"prospector/internal/catalog"
	"prospector/internal/research"
	"prospector/internal/shape"
)

const (
	// maxTries bounds the number of tries per company.
	maxTries = 3
	// firstWait is the wait before the second try. Each further wait is waitFactor times as long. Up
	// to a quarter is added or subtracted at random.
	firstWait  = time.Second
	waitFactor = 4
	// maxWait bounds the wait that a Retry-After header can ask for.
	maxWait = time.Minute
	// maxFormMisses is how many companies in a row must be refused in a form that worked before,
	// until a simpler form is used for all.
	maxFormMisses = 3
	// defaultTimeout is the time-out of one try if Options has none.
	defaultTimeout = 30 * time.Second
)

// Reasons why there is no answer, besides research.ProviderUnreachable and http_ with a status. A
// reason never contains text from the server.
const (
	reasonNotKnown         = "not_known"
	reasonConnectionBroken = "connection_broken"
	reasonTimeout          = "timeout"
	reasonTooLarge         = "answer_too_large"
	reasonInvalid          = "invalid_answer"
	reasonRefused          = "refused"
	reasonCutOff           = "cut_off"
)

// Options are the settings of a Provider.
type Options struct {
	BaseURL, Model string
	APIKey         string        // empty: no Authorization header
	Timeout        time.Duration // of one try, from connecting to the end of the answer
	Log            *slog.Logger
	Wait           func(ctx context.Context, d time.Duration) error // between tries; nil: a timer
	Now            func() time.Time                                 // required
}

// Provider asks a model behind an endpoint that implements the OpenAI chat completions API. It is
// safe for concurrent use; callers bound the concurrency. A reply without an answer of the wanted
// type is not an answer.
type Provider struct {
	o      Options
	url    string
	client *http.Client

	form    atomic.Int32 // the requestForm to use; it only increases
	worked  atomic.Bool  // some form was accepted
	refused atomic.Bool  // all forms were refused once, and none was accepted
	missed  atomic.Int32 // companies in a row that needed a simpler form

	mu     sync.Mutex
	warned map[string]warning // by reason
}

// warning is when a kind of failure was last logged, and how often it happened since.
type warning struct {
	at    time.Time
	since int
}

// New returns a Provider. It does not connect yet.
func New(o Options) *Provider {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Wait == nil {
		o.Wait = sleep
	}
	o.APIKey = strings.TrimSpace(o.APIKey) // values read from files end with a newline
	return &Provider{
		o: o, client: newClient(), warned: map[string]warning{},
		url: strings.TrimRight(o.BaseURL, "/") + "/chat/completions",
	}
}

// Costly returns true, because answers take time and may cost money.
func (a *Provider) Costly() bool { return true }

// Research asks the model about a company. The only error is that of an ended context; every other
// failure is a Qualification.
func (a *Provider) Research(ctx context.Context, q research.Question, c *catalog.Company) (research.Qualification, error) {
	user := userPrompt(q, c)
	form := requestForm(a.form.Load())
	reason := ""
	for try := 1; ; {
		reply := a.send(ctx, form, q, user)
		if err := ctx.Err(); err != nil && !reply.ok() {
			return research.Qualification{}, err
		}
		if reply.ok() {
			a.noteAccepted(form)
			return a.judge(q, reply.body), nil
		}
		// Once a try has reached the endpoint, later tries that do not connect must not hide its failure.
		if reason == "" || reply.failure != research.ProviderUnreachable {
			reason = reply.failure
		}
		if reply.refusesForm() && form < plainOnly {
			if form++; a.refused.Load() { // the form is not the cause; the model name or the path may be
				form = plainOnly
			}
			continue
		}
		if reply.refusesForm() && !a.worked.Load() {
			a.refused.Store(true)
		}
		if !reply.again || try == maxTries {
			return a.fail(reason), nil
		}
		if err := a.o.Wait(ctx, a.pause(try, reply)); err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return research.Qualification{}, err
		}
		// Some servers answer 500 to a schema that they do not support.
		if try++; try == maxTries && reply.status == http.StatusInternalServerError && !a.worked.Load() {
			form = max(form, objectOnly)
		}
	}
}

// noteAccepted records that a form was accepted, so that the next company is asked in it at once. A
// single company that needed a simpler form changes nothing for the others. Several in a row do.
func (a *Provider) noteAccepted(form requestForm) {
	a.mu.Lock()
	defer a.mu.Unlock()
	worked := a.worked.Swap(true)
	a.refused.Store(false)
	switch now := requestForm(a.form.Load()); {
	case form <= now:
		a.missed.Store(0)
		return
	case worked && a.missed.Add(1) < maxFormMisses:
		return
	}
	a.form.Store(int32(form))
	a.missed.Store(0)
	a.o.Log.Warn("research endpoint rejects part of the request, using a simpler form", "form", form.String())
}

// judge turns a reply into a Qualification.
func (a *Provider) judge(q research.Question, body []byte) research.Qualification {
	found, reason := readAnswer(q, body)
	switch reason {
	case "":
		found.Source = shape.Text("openai:" + a.o.Model)
		return found
	case reasonNotKnown:
		return research.Qualification{Status: research.StatusUnanswered, Reason: reasonNotKnown}
	}
	return a.fail(reason)
}

// fail returns a failed Qualification and logs each kind of failure at most once a minute.
func (a *Provider) fail(reason string) research.Qualification {
	a.mu.Lock()
	w, known := a.warned[reason]
	w.since++
	now := a.o.Now()
	warn := !known || now.Sub(w.at) >= time.Minute
	if warn {
		a.warned[reason] = warning{at: now}
	} else {
		a.warned[reason] = w
	}
	a.mu.Unlock()
	if warn {
		a.o.Log.Warn("research endpoint returned no usable answer", "reason", reason, "companies", w.since)
	}
	return research.Qualification{Status: research.StatusFailed, Reason: shape.Text(reason)}
}

// pause is how long to wait after a try: the time that the server asks for, or an exponential
// back-off.
func (a *Provider) pause(try int, r reply) time.Duration {
	if d, ok := parseRetryAfter(r.retryAfter, a.o.Now()); ok {
		return d
	}
	d := firstWait
	for range try - 1 {
		d *= waitFactor
	}
	return d*3/4 + rand.N(d/2)
}

// sleep waits in real time.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
