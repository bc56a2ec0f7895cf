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
	// openAITries is how often a company is asked about, while there is hope.
	maxTries = 3
	// openAIWait is the first wait between two tries, and the next is so many times as long; each up to a quarter shorter or longer.
	firstWait  = time.Second
	waitFactor = 4
	// openAIWaitMost bounds how long a server may have us wait.
	maxWait = time.Minute
	// openAIMissedMost is how many companies in a row must be refused in a form that was taken before, until it is given up.
	maxFormMisses = 3
	// openAITimeout is the time-out of a try where none is given.
	defaultTimeout = 30 * time.Second
)

// Why there is no answer, beside ProviderUnreachable and http_ with a status. Nothing of what a server said is ever in one.
const (
	reasonNotKnown         = "not_known"
	reasonConnectionBroken = "connection_broken"
	reasonTimeout          = "timeout"
	reasonTooLarge         = "answer_too_large"
	reasonInvalid          = "invalid_answer"
	reasonRefused          = "refused"
	reasonCutOff           = "cut_off"
)

// OpenAIOptions are where the model is, and how it is asked.
type Options struct {
	BaseURL, Model string
	APIKey         string        // none when empty
	Timeout        time.Duration // of one try, from its connection to the end of its answer
	Log            *slog.Logger
	Wait           func(ctx context.Context, d time.Duration) error // between tries; a timer when nil
	Now            func() time.Time                                 // required
}

// OpenAI asks a model behind an endpoint that speaks OpenAI's protocol of chat completions. It may be used by many goroutines at
// once; how many is theirs to bound. It trusts nothing that comes back: what is no answer of the wanted type is none.
type Provider struct {
	o      Options
	url    string
	client *http.Client

	form    atomic.Int32 // the openAIForm to ask in; it only ever grows
	worked  atomic.Bool  // some form was taken
	refused atomic.Bool  // all of them were refused once, and none was taken
	missed  atomic.Int32 // how many companies in a row were only taken in a simpler form

	mu     sync.Mutex
	warned map[string]warning // by reason
}

// openAIWarning is when a kind of failure was last logged, and how often it came since.
type warning struct {
	at    time.Time
	since int
}

// NewOpenAI makes a researcher; it connects to nothing yet.
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
	o.APIKey = strings.TrimSpace(o.APIKey) // variables filled from files end with a newline
	return &Provider{
		o: o, client: newClient(), warned: map[string]warning{},
		url: strings.TrimRight(o.BaseURL, "/") + "/chat/completions",
	}
}

// Costly tells that answers take time, and may cost money.
func (a *Provider) Costly() bool { return true }

// Research asks the model about a company. An error says that ctx has ended; every other failure is a Qualification.
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
			a.keep(form)
			return a.judge(q, reply.body), nil
		}
		// The last tries may not have come through, but one that did was asked: its failure is the one to tell.
		if reason == "" || reply.failure != research.ProviderUnreachable {
			reason = reply.failure
		}
		if reply.refusesForm() && form < plainOnly {
			if form++; a.refused.Load() { // it is not the form that is wrong: a name, or a path
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
		// Some servers answer 500 to a schema that they cannot use.
		if try++; try == maxTries && reply.status == http.StatusInternalServerError && !a.worked.Load() {
			form = max(form, objectOnly)
		}
	}
}

// keep notes that a form was taken, so that the next company is asked in it at once. One company that was refused in a form which
// others were taken in changes nothing for them, but several in a row do.
func (a *Provider) keep(form requestForm) {
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
	a.o.Log.Warn("the model's endpoint does not take every part of a request; it is asked in a simpler form", "form", form.String())
}

// judge makes of a reply what is kept of it.
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

// fail says why there is no answer, and warns of that kind of failure once a minute.
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
		a.o.Log.Warn("the model gave no usable answer", "reason", reason, "companies", w.since)
	}
	return research.Qualification{Status: research.StatusFailed, Reason: shape.Text(reason)}
}

// pause is how long to wait after a try: what the server asks for, or a while of our own.
func (a *Provider) pause(try int, r reply) time.Duration {
	if d, told := parseRetryAfter(r.retryAfter, a.o.Now()); told {
		return d
	}
	d := firstWait
	for range try - 1 {
		d *= waitFactor
	}
	return d*3/4 + rand.N(d/2)
}

// openAITimer waits in real time.
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
