package template

import (
	"slices"
	"testing"
)

// TestFill checks that a text that was filled with a sender's values renders like the original, and
// reports the same missing tokens.
func TestFill(t *testing.T) {
	sender := func(name string) string {
		return map[string]string{"sender.first_name": "Ann \"A\"\nLee", "sender.company": "Acme"}[name]
	}
	all := func(name string) string {
		switch name {
		case "recipient.first_name":
			return "{{sender.company}}"
		case "recipient.email":
			return "a@b.example"
		}
		return sender(name)
	}
	for _, s := range []string{
		"", "plain \"text\"", "{{sender.first_name}}", "{{sender.first_name}}{{sender.company}}",
		"a {{sender.first_name}} b {{sender.company}} c",
		"{{recipient.first_name}}{{sender.company}}{{recipient.email}}",
		"{{recipient.company}} of {{sender.title}}, {{sender.company}}{{sender.title}}",
		"Hello {{recipient.first_name}},\n{{sender.first_name}} {{recipient.last_name}}",
		"{{sender.title|boss \"B\"}} {{sender.title|}}{{recipient.last_name|there}} {{sender.company|x}}",
	} {
		original, senders := parsed(s, nil, sender)
		_, both := parsed(s, nil, all)
		for f := range formCount {
			got, missing := original.fill(senders.message).render(nil, f, both.message, nil)
			want, wantMissing := original.render(nil, f, both.message, nil)
			if string(got) != string(want) || !slices.Equal(missing, wantMissing) {
				t.Errorf("%q: rendered %q, missing %v; want %q, missing %v", s, got, missing, want, wantMissing)
			}
		}
	}
	original, senders := parsed("a {{sender.company}} b", nil, sender)
	if parts := original.fill(senders.message); len(parts) != 1 {
		t.Errorf("the filled text has %d parts, want one literal", len(parts))
	}
}

// TestAppendMissing checks that the missing tokens are those that rendering reports.
func TestAppendMissing(t *testing.T) {
	v := func(name string) string { return map[string]string{"recipient.first_name": "Ann"}[name] }
	for _, s := range []string{"", "plain", "{{recipient.first_name}}", "{{recipient.title}} {{sender.title|x}} {{recipient.title}}{{sender.email}}"} {
		parsed, values := parsed(s, nil, v)
		_, want := parsed.render(nil, PlainText, values.message, nil)
		if got := parsed.appendMissing(values.message, nil); !slices.Equal(got, want) {
			t.Errorf("%q: missing %v, want %v", s, got, want)
		}
	}
}
