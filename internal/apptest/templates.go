package apptest

import (
	"fmt"
	"strings"
)

// OneMail are the steps of a template with one email.
const OneMail = `"steps": [{"index": 0, "type": "auto_email", "subject": "Hello {{recipient.first_name}}", "message": "Shall we talk?"}]`

// TextTemplate creates a template with one email and returns its path.
func TextTemplate(o *Org, subject, message string) string {
	return TemplatesPath + "/" + o.Write.Post(TemplatesPath, map[string]any{"name": "T", "steps": []any{map[string]any{"index": 0, "type": "auto_email", "subject": subject, "message": message}}}).Is(201).ID()
}

// Rendered renders a template as the user of the read key and returns its steps, each as
// subject, message without its footer, and missing tokens.
func Rendered(o *Org, path, contact string) (steps []string) {
	for _, s := range o.Read.Post(path+"/render", map[string]string{"contact_id": contact}).Is(200).Value("data.steps").([]any) {
		s := s.(map[string]any)
		if text, isText := s["message"].(string); isText && s["type"] == "auto_email" {
			s["message"], _, _ = strings.Cut(text, "Acme\nUnsubscribe: ")
			s["message"] = strings.TrimSuffix(s["message"].(string), "\n\n")
		}
		steps = append(steps, fmt.Sprintf("%v|%v|%v", s["subject"], s["message"], s["missing"]))
	}
	return steps
}

// TemplatesPath is the path of sequence templates.
const TemplatesPath = "/v1/sequence-templates"
