package outreach

import (
	"slices"
	"testing"

	"prospector/internal/crm"
)

func replyTo(subject string) string { return string(appendReply(nil, []byte(subject))) }

// A text that is filled in for a sender renders as the whole would, and misses the same.
func TestFill(t *testing.T) {
	var sender values
	sender.set(senderFirstName, "Ann \"A\"\nLee")
	sender.set(senderCompany, "Acme")
	all := sender
	all.recipient(&crm.Recipient{FirstName: "{{sender.company}}", Email: "a@b.example"})
	for _, s := range []string{
		"", "plain \"text\"", "{{sender.first_name}}", "{{sender.first_name}}{{sender.company}}", "a {{sender.first_name}} b {{sender.company}} c",
		"{{recipient.first_name}}{{sender.company}}{{recipient.email}}", "{{recipient.company}} of {{sender.title}}, {{sender.company}}{{sender.title}}",
		"Hello {{recipient.first_name}},\n{{sender.first_name}} {{recipient.last_name}}",
	} {
		whole := newText(s, nil)
		for f := range forms {
			got, missing := whole.fill(&sender.message).render(nil, f, &all.message, nil)
			want, alsoMissing := whole.render(nil, f, &all.message, nil)
			if string(got) != string(want) || !slices.Equal(missing, alsoMissing) {
				t.Errorf("%q: %q without %v, want %q without %v", s, got, missing, want, alsoMissing)
			}
		}
	}
	if parts := newText("a {{sender.company}} b", nil).fill(&sender.message); len(parts) != 1 {
		t.Errorf("what is known is in %d parts, want one", len(parts))
	}
}
