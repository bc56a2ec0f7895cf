package outreach

import (
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/planner"
	"prospector/store"
)

// course is a version of a template's content, ready to be gone through. It does not change, and is shared.
type course struct {
	content  *Content
	plan     *planner.Template
	steps    []rendering        // in the order of their indexes
	position map[int]int        // of the steps, by their indexes
	render   map[int]*rendering // the same
}

func newCourse(c *Content) *course {
	made := &course{content: c, plan: c.plan(), steps: c.renderings(), position: make(map[int]int, len(c.Steps)), render: make(map[int]*rendering, len(c.Steps))}
	for i := range made.steps {
		r := &made.steps[i]
		made.position[r.step.Index], made.render[r.step.Index] = r.position, r
	}
	return made
}

// present gives the content that a template has now.
func (o *Outreach) present(tx *store.Tx, template uuid.UUID) (*course, error) {
	_, private, _, err := o.Templates.Table.Stored(tx, template)
	if err != nil {
		return nil, err
	}
	var state templateState
	if err := json.Unmarshal(private, &state); err != nil {
		return nil, err
	}
	return o.course(tx, template, state.Version)
}

// coursesMost is how many courses are kept at hand. A template is read anew in a fraction of a millisecond.
const coursesMost = 256

// courses are those that sequences have asked for last.
type courses struct {
	mu  sync.Mutex
	all map[courseID]*course
}

type courseID struct {
	org, template uuid.UUID
	version       uint32
}

// course gives the content of a template that a sequence began with. Versions do not change: one that was read is as good as new.
func (o *Outreach) course(tx *store.Tx, template uuid.UUID, version uint32) (*course, error) {
	id := courseID{tx.Org(), template, version}
	o.courses.mu.Lock()
	known := o.courses.all[id]
	o.courses.mu.Unlock()
	if known != nil {
		return known, nil
	}
	content, err := o.version(tx, template, version)
	if err != nil {
		return nil, err
	}
	made := newCourse(content)
	o.courses.mu.Lock()
	defer o.courses.mu.Unlock()
	if len(o.courses.all) >= coursesMost {
		clear(o.courses.all)
	}
	o.courses.all[id] = made
	return made, nil
}
