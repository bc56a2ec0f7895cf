package tam_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/research"
	"prospector/internal/shape"
)

// refSignal is a field that is filled by research.
type refSignal struct {
	id, dataType, question string
	isDown                 bool // no provider that could answer it is reachable
}

// refSaid is the answer of the researcher about a company.
type refSaid struct {
	answer               any
	isWrong              bool   // the field cannot hold a value of this type
	status, reason       string // if there is no answer
	confidence, evidence any
}

var refAllowed = map[string][]string{"enum": refLands, "multi_select": refWordLists}

// signals creates a field of each type in an organization, and one that is never answered.
func (w *refWorld) signals(o *apptest.Org) map[string]*refSignal {
	signals := map[string]*refSignal{}
	for i, dataType := range []string{"boolean", "number", "text", "enum", "multi_select", "date", "boolean"} {
		s := &refSignal{dataType: dataType, question: fmt.Sprintf("Question %d?", i), isDown: i == 6}
		body := map[string]any{"entity": "accounts", "key": fmt.Sprint("ai_", i), "label": "Label of " + s.question, "data_type": dataType, "ai": map[string]any{"question": s.question}}
		if allowed := refAllowed[dataType]; allowed != nil {
			body["allowed_values"] = allowed
		}
		s.id = o.Admin.Post("/v1/fields", body).Is(201).ID()
		signals[s.id] = s
	}
	return signals
}

// qualifierRule returns a rule for the answers of a field.
func (w *refWorld) qualifierRule(s *refSignal) map[string]any {
	rule := map[string]any{}
	if w.chance(2) {
		rule["operator"] = "equals"
	}
	contains := w.chance(2)
	switch s.dataType {
	case "boolean":
		rule["value"] = w.chance(2)
	case "number":
		rule["value"] = w.IntN(5) * 10
	case "date":
		rule["value"] = fmt.Sprintf("%d-01-01", 1990+w.IntN(4))
	case "enum":
		rule["value"] = w.pick(refLands)
	case "text":
		if rule["value"] = w.pick(append(refDescriptions, refIndustries...)); contains {
			rule["operator"], rule["value"] = "contains", w.pick(refNeedles)
		}
	case "multi_select":
		if rule["value"] = w.pick(refWordLists); contains {
			rule["operator"], rule["value"] = "contains", w.mixed(w.pick(refWordLists))
		}
	}
	return rule
}

// said returns the answer about a company, which depends only on its row.
func (s *refSignal) said(row refRow) refSaid {
	h := fnv.New32a()
	h.Write([]byte(s.question + row.text("id")))
	n := int(h.Sum32() >> 8)
	oneIn := func(m int) bool { n, m = n/m, n%m; return m == 0 }
	switch {
	case s.isDown || oneIn(9):
		return refSaid{status: "failed", reason: "provider_unreachable"}
	case oneIn(8):
		return refSaid{status: "failed", reason: "timeout"}
	case oneIn(8):
		return refSaid{status: "unanswered", reason: "the fields do not tell"}
	}
	r := refSaid{confidence: float64(n%5) / 4, evidence: "It is " + row.text("name") + "."}
	if oneIn(4) {
		r.confidence, r.evidence = nil, nil
	}
	if oneIn(6) {
		r.isWrong = true
		r.answer = map[string]any{"boolean": "true", "number": "10", "text": true, "enum": "Atlantis", "multi_select": []any{"go", "cobol"}, "date": "1990"}[s.dataType]
		return r
	}
	switch s.dataType {
	case "boolean":
		if staff, known := row["employee_count"].(float64); known {
			r.answer = staff > 10
		}
	case "number":
		r.answer = row["employee_count"]
	case "text":
		if r.answer = row["industry"]; oneIn(2) {
			r.answer = row["description"]
		}
	case "enum":
		r.answer = row["country"]
	case "multi_select":
		list := slices.Clone(row["technologies"].([]any))
		if len(list) > 0 && oneIn(3) {
			list = append(list, list[0])
		}
		r.answer = list
	case "date":
		if year, known := row["founded_year"].(float64); known {
			r.answer = fmt.Sprintf("%.0f-01-01", year)
		}
	}
	return r
}

// verdict applies a rule to an answer. It returns nil if the answer is not valid, and the
// qualification.
func (s *refSignal) verdict(row refRow, rule map[string]any) (qualified any, qualification map[string]any) {
	if s == nil { // there is no provider
		return nil, map[string]any{"status": "failed", "reason": "provider_not_configured"}
	}
	r := s.said(row)
	list, isList := r.answer.([]any)
	switch {
	case r.status != "":
		return nil, map[string]any{"status": r.status, "reason": r.reason}
	case r.isWrong:
		return nil, map[string]any{"status": "failed", "reason": "invalid_answer"}
	case r.answer == nil || isList && len(list) == 0:
		return nil, map[string]any{"status": "unanswered", "reason": "no_answer"}
	}
	passes := r.answer == rule["value"]
	if isList {
		var once []any
		for _, v := range list {
			if !slices.Contains(once, v) {
				once = append(once, v)
			}
		}
		r.answer = once
		passes = len(once) == 1 && once[0] == rule["value"]
		if rule["operator"] == "contains" {
			passes = slices.ContainsFunc(once, func(v any) bool { return refLower(v.(string)) == refLower(rule["value"].(string)) })
		}
	} else if rule["operator"] == "contains" {
		passes = strings.Contains(refLower(r.answer.(string)), refLower(rule["value"].(string)))
	}
	return passes, map[string]any{"answer": r.answer, "confidence": r.confidence, "evidence": r.evidence, "source": "script"}
}

// refAsked counts the researched companies by outcome.
type refAsked struct {
	passed, notMatched, failed, unasked int
	why                                 []string // the most frequent one, except for unanswered
}

// mostly returns the most frequent reason of failures.
func (n *refAsked) mostly() any {
	most, times := any(nil), 0
	for why, n := range counted(n.why) {
		if n > times || n == times && why < most.(string) {
			most, times = why, n
		}
	}
	return most
}

// research determines the answer about a company. Its people follow it.
func (s *refSelection) research(c *refMember, signal *refSignal, rule map[string]any) {
	qualified, qualification := signal.verdict(c.data, rule)
	switch {
	case qualified == true:
		s.asked.passed++
	case qualified == false:
		s.asked.notMatched++
	case qualification["reason"] == "provider_unreachable" || signal == nil:
		s.asked.unasked++
	default:
		if s.asked.failed++; qualification["status"] == "failed" {
			s.asked.why = append(s.asked.why, qualification["reason"].(string))
		}
	}
	s.researched = append(s.researched, c.source)
	for _, m := range append([]*refMember{c}, c.people...) {
		m.qualified, m.qualification = qualified, qualification
		switch {
		case !m.kept():
		case qualified == nil:
			m.unresearched = true
		case qualified == false:
			m.reason = "QUALIFIER_NOT_MATCHED"
		}
	}
}

// hasResearch requires the expected research and result.qualifier.
func (p *refPreview) hasResearch(what string, data map[string]any) {
	p.t.Helper()
	research, qualifier := data["research"].(map[string]any), data["result"].(map[string]any)["qualifier"]
	id, _ := p.request["qualifier_signal_id"].(string)
	if id == "" {
		p.is(what, []any{"skipped", nil}, []any{research["status"], qualifier})
		return
	}
	n := p.asked
	signal := p.signals[id]
	if signal == nil {
		p.is(what, []any{"failed", n.unasked}, []any{research["status"], research["failed"]})
		return
	}
	status, reason, started := "completed", any(nil), any("<time>")
	switch {
	case n.passed+n.notMatched > 0:
	case n.failed > 0:
		reason = n.mostly()
	default:
		if started = "<any>"; n.unasked > 0 {
			status, reason = "failed", "provider_unreachable"
		}
	}
	unavailable := any(nil)
	if status == "failed" {
		unavailable = reason
	}
	rule := maps.Clone(p.request["qualifier_rule"].(map[string]any))
	if rule["operator"] == nil {
		rule["operator"] = "equals"
	}
	label, units := "Label of "+signal.question, n.passed+n.notMatched
	p.is(what, map[string]any{"status": status, "reason": reason, "field_id": id, "field_name": label, "question": signal.question, "passed": n.passed, "not_matched": n.notMatched,
		"failed": n.failed + n.unasked, "started_at": started, "finished_at": "<time>", "cost": map[string]any{"unit_product": "ai_signal", "rate_basis": "list", "charged": false,
			"charged_operation_id": nil, "companies": units + n.failed, "units": units, "unit_rate": 2.5, "estimated_ai_signal_credits": 2.5 * float64(p.candidates),
			"actual_ai_signal_credits": 2.5 * float64(units)}}, research)
	p.is(what, map[string]any{"available": status == "completed", "reason": unavailable, "signal": map[string]any{"id": id, "name": label, "question": signal.question,
		"data_type": signal.dataType, "rule": rule}}, qualifier)
}

// researcher answers the signals of an organization. It compares the questions with the world.
func (w *refWorld) researcher(signals map[string]*refSignal, costly bool, wrong func(string)) *scripted {
	byQuestion, rows := map[string]*refSignal{}, map[string]refRow{}
	for _, s := range signals {
		byQuestion[s.question] = s
	}
	for _, row := range w.companies {
		rows[row.text("id")] = row
	}
	return &scripted{costly: costly, says: func(q research.Question, c *catalog.Company) research.Qualification {
		signal := byQuestion[q.Text]
		var row refRow
		if refRecode(c, &row); !reflect.DeepEqual(row, rows[c.ID]) || string(q.Type) != signal.dataType || !slices.Equal(q.Allowed, refAllowed[signal.dataType]) {
			wrong(fmt.Sprintf("asked %+v about %v", q, row))
		}
		r := signal.said(row)
		found := research.Qualification{Status: shape.Text(r.status), Reason: shape.Text(r.reason), Source: "script"}
		if r.confidence != nil {
			found.Confidence = shape.NumberOf(r.confidence.(float64))
		}
		if r.evidence != nil {
			found.Evidence = shape.Text(r.evidence.(string))
		}
		if r.status == "" {
			found.Answer = answerOf(refJSON(r.answer))
		}
		return found
	}}
}

// origins creates Accounts and Contacts that were imported from the catalog and have changed since.
func (w *refWorld) origins(t *testing.T, app *apptest.App, o *apptest.Org, crm *refCRM) {
	t.Helper()
	pick := func(rows []refRow) (ids []string, has map[string]bool) {
		has = map[string]bool{}
		for range len(rows) / 20 {
			id := w.pickRow(rows).text("id")
			ids, has[id] = append(ids, id), true
		}
		return ids, has
	}
	var companies, people []string
	companies, crm.companies = pick(w.companies)
	people, crm.people = pick(w.people)
	fromCatalog(t, app, o, companies, people)
}
