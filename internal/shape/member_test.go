package shape

import "testing"

const memberRecord = `{"id":"1","name":null,"first":"Ann \"\\ A","note":"\"last\":\"no\"","on":true,"off":false,"last":"Lee"}`

func TestMemberText(t *testing.T) {
	for member, want := range map[string]string{
		"id": "1", "name": "", "first": `Ann "\ A`, "last": "Lee", "none": "",
	} {
		if got := MemberText(memberRecord, member); got != want {
			t.Errorf("%s: %q, want %q", member, got, want)
		}
	}
}

// TestMembers reads members in any order, including absent ones.
func TestMembers(t *testing.T) {
	texts := map[string]string{"id": "1", "name": "", "first": `Ann "\ A`, "last": "Lee"}
	flags := map[string]bool{"on": true, "off": false, "id": false, "none": false}
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

func TestMembersPlain(t *testing.T) {
	m := NewMembers(`{"name":"Ann \"A\"","none":null,"on":true,"off":false,"count":12,"ratio":-0.5,"empty":[],"tags":["a","b \"c\"],"],"in":{"hot":"yes"},"last":7}`)
	for range 5 { // each time in another order
		for member, want := range map[string]string{
			"name": `Ann "A"`, "none": "", "absent": "", "on": "yes", "off": "no", "count": "12", "ratio": "-0.5", "empty": "",
			"tags": `a, b "c"],`, "in": "", "in.hot": "yes", "hot": "", "in.last": "", "last": "7",
		} {
			if got := m.Plain(member); got != want {
				t.Errorf("%s: %q, want %q", member, got, want)
			}
		}
	}
}

// TestMembersTexts reads lists, and nothing from what is no list.
func TestMembersTexts(t *testing.T) {
	m := NewMembers(`{"tags":["a","b"],"empty":[],"text":"","none":null,"count":12,"in":{"tags":["c"]}}`)
	for member, want := range map[string]int{"tags": 2, "empty": 0, "text": 0, "none": 0, "count": 0, "absent": 0, "in.tags": 1} {
		if got := m.Texts(member); len(got) != want {
			t.Errorf("%s: %q, want %d texts", member, got, want)
		}
	}
}
