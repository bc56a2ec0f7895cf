package openai

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"prospector/internal/crm"
	"prospector/internal/research"
	"prospector/internal/shape"
)

const (
	// maxTextLength is the maximum length of a text answer in characters.
	maxTextLength = 2000
	// maxEvidenceLength is the maximum length of the evidence in characters.
	maxEvidenceLength = 400
	// maxObjects bounds how many copies of its object a model may write, so that no reply takes
	// long to parse.
	maxObjects = 8
)

// completion is the part of a reply that is used.
type completion struct {
	Choices []struct {
		Message struct {
			Content content `json:"content"`
			Refusal string  `json:"refusal"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
}

// content is the text of a message. Servers send it as a string or as a list of parts.
type content struct {
	text    string
	refused bool
}

func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginArray {
		return json.UnmarshalDecode(d, &c.text)
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.UnmarshalDecode(d, &parts); err != nil {
		return err
	}
	var all strings.Builder
	for _, p := range parts {
		switch p.Type {
		case "text", "output_text":
			all.WriteString(p.Text)
		case "refusal":
			c.refused = true
		}
	}
	c.text = all.String()
	return nil
}

// readAnswer finds the answer in a reply, or returns the reason why there is none.
func readAnswer(q research.Question, body []byte) (research.Qualification, string) {
	var reply completion
	if err := json.Unmarshal(body, &reply); err != nil || len(reply.Choices) == 0 {
		return research.Qualification{}, reasonInvalid
	}
	first := &reply.Choices[0]
	if first.Message.Refusal != "" || first.Message.Content.refused || first.FinishReason == "content_filter" {
		return research.Qualification{}, reasonRefused
	}
	object, found := findObject(first.Message.Content.text)
	switch {
	case !found && first.FinishReason == "length":
		return research.Qualification{}, reasonCutOff
	case !found:
		return research.Qualification{}, reasonInvalid
	}
	answer, reason := checkAnswer(q, object.Get("answer"))
	if reason != "" {
		return research.Qualification{}, reason
	}
	return research.Qualification{
		Answer: answer, Confidence: confidence(object.Get("confidence")), Evidence: evidence(object.Get("evidence")),
	}, ""
}

// findObject finds the JSON object in the text of a model, which may surround it with thoughts,
// prose and code fences. It finds nothing if an object is malformed or if there are two that
// differ, because it must not guess.
func findObject(content string) (shape.Value, bool) {
	if object, err := shape.ParseObject([]byte(content)); err == nil {
		return object, true
	}
	if i := strings.LastIndex(content, "</think>"); i >= 0 {
		content = content[i:]
	}
	if strings.Contains(content, "<think>") {
		return shape.Value{}, false // the reasoning was cut off
	}
	var found shape.Value
	for left := maxObjects; left > 0; {
		i := strings.IndexByte(content, '{')
		if i < 0 {
			return found, found.Kind == shape.Object
		}
		content = content[i:]
		if rest := strings.TrimLeft(content[1:], " \t\r\n"); rest != "" && rest[0] != '"' && rest[0] != '}' {
			end := strings.IndexAny(rest, "{}") // a brace in prose; with another brace inside, it may be a malformed object
			if end >= 0 && rest[end] == '{' {
				return shape.Value{}, false
			}
			content = rest[end+1:]
			continue
		}
		d := jsontext.NewDecoder(strings.NewReader(content))
		raw, err := d.ReadValue()
		if err != nil {
			return shape.Value{}, false
		}
		object, err := shape.ParseObject(raw)
		if err != nil || found.Kind == shape.Object && !reflect.DeepEqual(found, object) {
			return shape.Value{}, false
		}
		found, content = object, content[d.InputOffset():]
		left--
	}
	return shape.Value{}, false
}

// checkAnswer returns the answer if it has the type of the question, or the reason why there is
// none.
func checkAnswer(q research.Question, v shape.Value) (shape.Value, string) {
	if v.Kind == shape.String {
		if allowed, is := matchAllowed(q, v.Text); is {
			v.Text = allowed
		} else if meansUnknown(v.Text) {
			return v, reasonNotKnown
		}
	}
	if v.Kind == shape.Null || q.Type == crm.MultiSelectField && v.Kind == shape.List && len(v.Items) == 0 {
		return v, reasonNotKnown
	}
	fits := false
	switch q.Type {
	case crm.BooleanField:
		fits = v.Kind == shape.Bool
	case crm.NumberField:
		if f := shape.ParseNumber(v.Text); v.Kind == shape.Num && f >= -shape.MaxNumber && f <= shape.MaxNumber {
			v.Text, fits = strconv.FormatFloat(f, 'f', -1, 64), true
		}
	case crm.DateField:
		_, err := shape.ParseDate(v.Text)
		fits = v.Kind == shape.String && err == nil
	case crm.EnumField:
		fits = v.Kind == shape.String && slices.Contains(q.Allowed, v.Text)
	case crm.MultiSelectField:
		v, fits = checkChoices(q, v)
	case crm.TextField:
		v.Text = strings.TrimSpace(v.Text)
		fits = v.Kind == shape.String && utf8.RuneCountInString(v.Text) <= maxTextLength && !strings.ContainsRune(v.Text, 0)
	}
	if !fits {
		return shape.Value{}, reasonInvalid
	}
	return v, ""
}

// checkChoices returns the values of a list without duplicates, if all of them are allowed.
func checkChoices(q research.Question, v shape.Value) (shape.Value, bool) {
	chosen := shape.Value{Kind: shape.List}
	taken := map[string]bool{}
	for _, item := range v.Items {
		text, allowed := matchAllowed(q, item.Text)
		if item.Kind != shape.String || !allowed {
			return v, false
		}
		if !taken[text] {
			taken[text] = true
			chosen.Items = append(chosen.Items, shape.Value{Kind: shape.String, Text: text})
		}
	}
	return chosen, v.Kind == shape.List
}

// matchAllowed returns the allowed value that equals text, or the only one that differs just in
// case.
func matchAllowed(q research.Question, text string) (string, bool) {
	if slices.Contains(q.Allowed, text) {
		return text, true
	}
	means, folded := []string(nil), shape.Fold(text)
	for _, allowed := range q.Allowed {
		if shape.Fold(allowed) == folded {
			means = append(means, allowed)
		}
	}
	if len(means) != 1 {
		return "", false
	}
	return means[0], true
}

// meansUnknown reports whether a text is one of the ways in which models say that they do not know.
func meansUnknown(text string) bool {
	switch strings.TrimRight(shape.Fold(strings.TrimSpace(text)), ".") {
	case "", "unknown", "not known", "null", "n/a", "not available", "undetermined", "cannot be determined", "i don't know":
		return true
	}
	return false
}

// confidence returns a number from 0 to 1, or nothing.
func confidence(v shape.Value) shape.Number {
	if f := shape.ParseNumber(v.Text); v.Kind == shape.Num && f >= 0 && f <= 1 {
		return shape.NumberOf(f)
	}
	return shape.Number{}
}

// evidence returns a text as one line without control characters, or nothing.
func evidence(v shape.Value) shape.Text {
	if v.Kind != shape.String {
		return ""
	}
	line := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, v.Text)
	return shape.Text(truncate(strings.TrimSpace(line), maxEvidenceLength))
}
