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
	// openAITextMost is how many characters a text may have to be an answer.
	maxTextLength = 2000
	// openAIEvidenceMost is how many characters of the evidence are kept.
	maxEvidenceLength = 400
	// openAIObjectsMost is how often a model may write its object, so that no reply keeps us busy.
	maxObjects = 8
)

// openAICompletion is what is read of a reply.
type completion struct {
	Choices []struct {
		Message struct {
			Content content `json:"content"`
			Refusal string  `json:"refusal"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
}

// openAIContent is the text of a message, which comes whole or in parts.
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

// openAIRead finds the answer in a reply, or says why there is none.
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
	return research.Qualification{Answer: answer, Confidence: confidence(object.Get("confidence")), Evidence: evidence(object.Get("evidence"))}, ""
}

// openAIFind finds the object in what a model wrote: thoughts, prose and code fences may be around it. There is none when an object is
// broken, or when there are two that differ: nobody is to guess which of them is meant.
func findObject(content string) (shape.Value, bool) {
	if object, err := shape.ParseObject([]byte(content)); err == nil {
		return object, true
	}
	if i := strings.LastIndex(content, "</think>"); i >= 0 {
		content = content[i:]
	}
	if strings.Contains(content, "<think>") {
		return shape.Value{}, false // it was still thinking
	}
	var found shape.Value
	for left := maxObjects; left > 0; {
		i := strings.IndexByte(content, '{')
		if i < 0 {
			return found, found.Kind == shape.Object
		}
		content = content[i:]
		if rest := strings.TrimLeft(content[1:], " \t\r\n"); rest != "" && rest[0] != '"' && rest[0] != '}' {
			end := strings.IndexAny(rest, "{}") // a brace of prose: with another one in it, it may as well be an object that is broken
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

// openAIAnswer is the value of an answer, if it is what the question wants, or why there is none.
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

// openAIChosen is the values of a list, each once, if all of them are allowed.
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

// openAIAllowed finds the allowed value that a model means: that very one, or the only one that differs in case alone.
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

// openAIUnknown tells the ways in which models write that they do not know.
func meansUnknown(text string) bool {
	switch strings.TrimRight(shape.Fold(strings.TrimSpace(text)), ".") {
	case "", "unknown", "not known", "null", "n/a", "not available", "undetermined", "cannot be determined", "i don't know":
		return true
	}
	return false
}

// openAIConfidence is a number from 0 to 1, or none.
func confidence(v shape.Value) shape.Number {
	if f := shape.ParseNumber(v.Text); v.Kind == shape.Num && f >= 0 && f <= 1 {
		return shape.NumberOf(f)
	}
	return shape.Number{}
}

// openAIEvidence is a text of one line, without control characters, or none.
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
