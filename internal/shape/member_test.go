package shape

import "testing"

const memberRecord = `{"id":"1","name":null,"first":"Ann \"\\ A","note":"\"last\":\"no\"","on":true,"off":false,"last":"Lee"}`

func TestMemberText(t *testing.T) {
	for member, want := range map[string]string{
		`"id":"`: "1", `"name":"`: "", `"first":"`: `Ann "\ A`, `"last":"`: "Lee", `"none":"`: "",
	} {
		if got := MemberText(memberRecord, member); got != want {
			t.Errorf("%s: %q, want %q", member, got, want)
		}
	}
}

// TestMembers reads members in any order, including absent ones.
func TestMembers(t *testing.T) {
	texts := map[string]string{`"id":"`: "1", `"name":"`: "", `"first":"`: `Ann "\ A`, `"last":"`: "Lee"}
	flags := map[string]bool{`"on":`: true, `"off":`: false, `"id":`: false, `"none":`: false}
	m := NewMembers(memberRecord)
	for range 20 { // each time in another order
		for member, want := range texts {
			if got := m.Text(member); got != want {
				t.Errorf("%s: %q, want %q", member, got, want)
			}
		}
		for member, want := range flags {
			if got := m.Flag(member); got != want {
				t.Errorf("%s: %v, want %v", member, got, want)
			}
		}
	}
}
