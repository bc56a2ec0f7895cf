package planner

import "time"

// Resume returns the new due times of steps that continue after an interruption. steps are the positions
// of those that wait. The one that the template plans first is due at the time from at the earliest, and
// the others keep at least the distance to it that the template plans. Steps whose due times stay are left
// out. Distances to messages that were sent are the business of Push.
func Resume(t *Template, c *Calendar, start time.Time, history []StepHistory, steps []int, from time.Time) []Due {
	f := newScheduling(t, c, start, history)
	begin := instantOf(from)
	first := -1
	for _, i := range steps {
		if first < 0 || f.planned.rank[i] < f.planned.rank[first] {
			first = i
		}
	}
	var moved []Due
	for _, i := range steps {
		at := max(f.states[i].due, begin)
		if i != first && f.states[first].due < begin {
			least, _ := f.distanceFrom(first, i, begin)
			at = max(at, least)
		}
		if f.steps[i].Action == Send {
			at = f.cal.nextOpen(at)
		}
		if at != f.states[i].due {
			moved = append(moved, Due{Step: i, At: at.time()})
		}
	}
	return moved
}

// Ranks returns the place of each step, by its position, in the order in which a template plans the steps of a
// sequence that starts at a time.
func Ranks(t *Template, c *Calendar, start time.Time) []int {
	return t.plannedTimes(c, instantOf(start)).rank
}
