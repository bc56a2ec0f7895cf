package template

import (
	"strings"
	"testing"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// TestFooter adds footers to messages. The sender has a name but no title.
func TestFooter(t *testing.T) {
	value := func(name string) string {
		return map[string]string{
			UnsubscribeURL: "https://x.example/u/1", "organization.name": "Acme \"Inc\"", "organization.postal_address": "Street 1\nTown",
		}[name]
	}
	for _, c := range []struct{ name, message, footer, want string }{
		{"the lines follow after a blank line", "Hello", "{{organization.name}}\nUnsubscribe: {{unsubscribe_url}}", "Hello\n\nAcme \"Inc\"\nUnsubscribe: https://x.example/u/1"},
		{"a value can have several lines", "Hello", "{{organization.postal_address}}\n{{unsubscribe_url}}", "Hello\n\nStreet 1\nTown\nhttps://x.example/u/1"},
		{"white space at the end of the message goes", "Hello \n\n", "{{unsubscribe_url}}", "Hello\n\nhttps://x.example/u/1"},
		{"a line without a value is left out", "Hello", "{{organization.name}}\n{{organization.name}}, {{sender.title}}\n{{unsubscribe_url}}", "Hello\n\nAcme \"Inc\"\nhttps://x.example/u/1"},
		{"the first line can be left out", "Hello", "{{sender.title}}\n\n{{unsubscribe_url}}", "Hello\n\nhttps://x.example/u/1"},
		{"blank lines stay", "Hello", "Acme\n\n\n{{unsubscribe_url}}", "Hello\n\nAcme\n\n\nhttps://x.example/u/1"},
		{"a line with a fallback stays", "Hello", "{{sender.title|Sales}}{{sender.title|}}\n{{unsubscribe_url}}", "Hello\n\nSales\nhttps://x.example/u/1"},
		{"a footer without the link gets it", "Hello", "Acme", "Hello\n\nAcme\nUnsubscribe: https://x.example/u/1"},
		{"a link whose line is left out is added", "Hello", "{{sender.title}} {{unsubscribe_url}}", "Hello\n\nUnsubscribe: https://x.example/u/1"},
		{"an empty footer has the link", "Hello", "", "Hello\n\nUnsubscribe: https://x.example/u/1"},
		{"lines can end with CR LF", "Hello", "Acme\r\n{{unsubscribe_url}}\r\n", "Hello\n\nAcme\nhttps://x.example/u/1"},
		{"a message with the link has no footer", "Stop: {{unsubscribe_url}}\n", "Acme", "Stop: https://x.example/u/1\n"},
		{"a message with the link in a block has no footer", "[[block:stop]]", "Acme", "Stop: https://x.example/u/1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			content := &Content{
				Steps:  []Step{{Type: AutoEmail, Message: shape.Text(c.message)}, {Index: 1, Type: Call, Message: "Call"}},
				Blocks: map[string]Block{"stop": {Content: "Stop: {{unsubscribe_url}}"}},
			}
			compiled := Compile(content, c.footer)
			values := compiled.NewValues()
			for i, token := range compiled.Tokens {
				values.Set(i, value(token.Name()))
			}
			message, missing := compiled.Steps[0].renderMessage(values, true, nil)
			if message != c.want || len(missing) > 0 {
				t.Errorf("%q, missing %v; want %q", message, missing, c.want)
			}
			if message, _ := compiled.Steps[1].renderMessage(values, true, nil); message != "Call" {
				t.Errorf("a Task has the footer: %q", message)
			}
		})
	}
}

func TestCheckFooter(t *testing.T) {
	for footer, want := range map[string]string{
		"Acme\n{{sender.email}}": "", "{{x}}": "unknown token", "[[block:x]]": "a footer cannot include a block", "{{": "no closing",
		"{{sender.email|{{x}}": "a fallback cannot contain {{",
	} {
		t.Run(footer, func(t *testing.T) {
			var p fault.Problems
			CheckFooter("mail_footer", footer, testVocabulary, &p)
			if err := p.Err(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
