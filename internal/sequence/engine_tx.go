package sequence

import (
	"time"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/internal/template"
	"prospector/store"
)

// engineTx is the engine in one transaction. It caches what the sequences of the transaction have
// in common, and collects what close writes.
type engineTx struct {
	engine *Engine
	tx     *store.Tx
	now    time.Time // of the clock that sequences follow

	recipients *crm.Recipients
	calendar   *planner.Calendar                // nil until it is needed
	campaigns  map[uuid.UUID]*outreach.Campaign // nil for a deleted campaign
	versions   map[uuid.UUID]uint32             // current versions of templates
	compiled   map[templateVersion]*template.Compiled
	senders    map[uuid.UUID]*sender
	counters   map[uuid.UUID]*campaignCounters
	forecasts  map[uuid.UUID]senderForecast // by sender

	capacity       int         // how many messages may still be claimed for the dispatcher
	lacksCapacity  bool        // a due message waits for capacity only
	claimed        []*outgoing // messages to dispatch after the commit
	needsAdvancing bool        // something is due again
}

// templateVersion identifies the content of a template.
type templateVersion struct {
	template uuid.UUID
	version  uint32
}

func (e *Engine) newEngineTx(tx *store.Tx) *engineTx {
	return &engineTx{
		engine: e, tx: tx, now: e.clock.now(tx), recipients: e.crm.Recipients(tx),
		campaigns: map[uuid.UUID]*outreach.Campaign{}, versions: map[uuid.UUID]uint32{},
		compiled: map[templateVersion]*template.Compiled{}, senders: map[uuid.UUID]*sender{},
		counters: map[uuid.UUID]*campaignCounters{}, forecasts: map[uuid.UUID]senderForecast{},
	}
}

// withEngine calls do with the engineTx of a transaction. There is only one at a time, so a
// change that is followed in the middle of do shares it.
func (e *Engine) withEngine(tx *store.Tx, do func(*engineTx) error) error {
	if etx, active := e.current.Get(tx); active {
		return do(etx)
	}
	etx := e.newEngineTx(tx)
	e.current.Set(tx, etx)
	defer e.current.Clear(tx)
	if err := do(etx); err != nil {
		return err
	}
	return etx.close()
}

// close stores the counters and ledgers, and schedules the advance job if something is due again.
func (x *engineTx) close() error {
	if len(x.claimed) > 0 {
		version := x.engine.stopVersion(x.tx)
		for _, m := range x.claimed {
			m.stopVersion = version
		}
	}
	if err := x.saveCounters(); err != nil {
		return err
	}
	if err := x.saveLedgers(); err != nil {
		return err
	}
	if !x.needsAdvancing {
		return nil
	}
	return x.engine.scheduleAdvance(x.tx, x.now)
}

func (x *engineTx) cal() (_ *planner.Calendar, err error) {
	if x.calendar == nil {
		x.calendar, err = x.engine.outreach.Calendar(x.tx)
	}
	return x.calendar, err
}

// campaign returns a campaign, or nil if it was deleted.
func (x *engineTx) campaign(id uuid.UUID) (*outreach.Campaign, error) {
	if c, cached := x.campaigns[id]; cached {
		return c, nil
	}
	doc, err := x.engine.outreach.Campaigns.Get(x.tx, id)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		x.campaigns[id] = nil
	case err != nil:
		return nil, err
	default:
		x.campaigns[id] = &doc.Record
	}
	return x.campaigns[id], nil
}

// template returns a version of a template, compiled.
func (x *engineTx) template(id uuid.UUID, version uint32) (*template.Compiled, error) {
	key := templateVersion{id, version}
	if c := x.compiled[key]; c != nil {
		return c, nil
	}
	c, err := x.engine.outreach.CompiledTemplate(x.tx, id, version)
	if err != nil {
		return nil, err
	}
	x.compiled[key] = c
	return c, nil
}

// currentVersion returns the current version of a template.
func (x *engineTx) currentVersion(id uuid.UUID) (uint32, error) {
	if version, cached := x.versions[id]; cached {
		return version, nil
	}
	version, err := x.engine.outreach.TemplateVersion(x.tx, id)
	if err == nil {
		x.versions[id] = version
	}
	return version, err
}

// update loads a sequence, applies change and saves it.
func (x *engineTx) update(id uuid.UUID, change func(*sequenceRun) error) error {
	return x.updateKnown(store.Doc[Sequence]{ID: id}, change)
}

// updateKnown is update for a sequence that was read before, perhaps in another transaction. It is
// not decoded again if it has not changed.
func (x *engineTx) updateKnown(doc store.Doc[Sequence], change func(*sequenceRun) error) error {
	r, err := x.load(doc)
	if err != nil {
		return err
	}
	if err := change(r); err != nil {
		return err
	}
	return r.save()
}
